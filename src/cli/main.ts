import { Command, CommanderError } from 'commander';
import { version } from '../version.ts';
import { examples } from './examples.ts';
import { exitCodeOf, messageOf } from './failure.ts';
import { ignoreBrokenPipes, say } from './terminal.ts';

type Group = {
  description: string;
  /** Of a group of verbs; a verb brings its own. */
  examples?: readonly string[];
  /** Loaded only when asked for: `token list` has no use for a web server. */
  load(command: Command): Promise<void>;
};

const groups: Readonly<Record<string, Group>> = {
  serve: {
    description: 'run the service',
    load: async (command) => (await import('./serve.ts')).serve(command),
  },
  user: {
    description: 'make and list users',
    examples: ['user create ann', 'user list'],
    async load(command) {
      (await import('./user-create.ts')).userCreate(command);
      (await import('./user-list.ts')).userList(command);
    },
  },
  token: {
    description: 'make, list and revoke tokens',
    examples: ['token create --user ann', 'token list', 'token revoke tok_01k0c3t2v4x5y6z7a8b9c0d1e2'],
    async load(command) {
      (await import('./token-create.ts')).tokenCreate(command);
      (await import('./token-list.ts')).tokenList(command);
      (await import('./token-revoke.ts')).tokenRevoke(command);
    },
  },
  openapi: {
    description: 'print the OpenAPI document',
    load: async (command) => (await import('./openapi.ts')).openapi(command),
  },
};

/**
 * Runs the command line. Sets the exit code: 0 done, 1 failed, 2 wrong usage. Standard output carries data
 * only; everything that is said to a person goes to standard error.
 *
 * @param args what stands behind the name of the program.
 */
export async function main(args: readonly string[]): Promise<void> {
  ignoreBrokenPipes();
  try {
    const program = await createProgram(args);
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    // Commander has already said what is wrong with the usage.
    if (!(error instanceof CommanderError)) say(messageOf(error));
    process.exitCode = exitCodeOf(error);
  }
}

async function createProgram(args: readonly string[]): Promise<Command> {
  const program = new Command('plant-store')
    .description('A plant store: creates, lists and deletes plants, and announces every new one.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .showHelpAfterError('(--help shows what is possible)')
    .exitOverride();
  program.addHelpText(
    'after',
    examples('serve', 'user create ann', 'token create --user ann --expires-in 90d', 'token create --help'),
  );

  const asked = args.filter((arg) => !arg.startsWith('-') && arg !== 'help')[0];
  for (const [name, group] of Object.entries(groups)) {
    const command = program.command(name).description(group.description);
    if (name !== asked) continue;
    if (group.examples) command.addHelpText('after', examples(...group.examples));
    await group.load(command);
  }
  return program;
}
