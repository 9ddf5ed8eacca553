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
    description: 'make, list, disable and delete users',
    examples: ['user create ann', 'user list', 'user disable ann'],
    async load(command) {
      (await import('./user-create.ts')).userCreate(command);
      (await import('./user-list.ts')).userList(command);
      (await import('./user-disable.ts')).userDisable(command);
      (await import('./user-enable.ts')).userEnable(command);
      (await import('./user-delete.ts')).userDelete(command);
    },
  },
  token: {
    description: 'make, list, rotate and revoke tokens',
    examples: [
      'token create --user ann',
      'token list',
      'token rotate tok_01k0c3t2v4x5y6z7a8b9c0d1e2',
      'token revoke tok_01k0c3t2v4x5y6z7a8b9c0d1e2',
    ],
    async load(command) {
      (await import('./token-create.ts')).tokenCreate(command);
      (await import('./token-list.ts')).tokenList(command);
      (await import('./token-show.ts')).tokenShow(command);
      (await import('./token-rotate.ts')).tokenRotate(command);
      (await import('./token-revoke.ts')).tokenRevoke(command);
    },
  },
  share: {
    description: 'let users read the plants of others',
    examples: ['share add --owner ann --viewer bob', 'share list', 'share remove --owner ann --viewer bob'],
    async load(command) {
      (await import('./share-add.ts')).shareAdd(command);
      (await import('./share-list.ts')).shareList(command);
      (await import('./share-remove.ts')).shareRemove(command);
    },
  },
  webhook: {
    description: 'make, list, try and change webhooks (of a running service)',
    examples: [
      'webhook create https://example.com/plants',
      'webhook test wh_01k9f3zv7h8q2m5x4c6d0n1r8t --wait',
      'webhook replay wh_01k9f3zv7h8q2m5x4c6d0n1r8t --since 2h',
    ],
    async load(command) {
      (await import('./webhook-create.ts')).webhookCreate(command);
      (await import('./webhook-list.ts')).webhookList(command);
      (await import('./webhook-show.ts')).webhookShow(command);
      (await import('./webhook-test.ts')).webhookTest(command);
      (await import('./webhook-update.ts')).webhookUpdate(command);
      (await import('./webhook-rotate.ts')).webhookRotate(command);
      (await import('./webhook-enable.ts')).webhookEnable(command);
      (await import('./webhook-disable.ts')).webhookDisable(command);
      (await import('./webhook-replay.ts')).webhookReplay(command);
      (await import('./webhook-delete.ts')).webhookDelete(command);
    },
  },
  delivery: {
    description: 'list, show and repeat deliveries (of a running service)',
    examples: [
      'delivery list wh_01k9f3zv7h8q2m5x4c6d0n1r8t --state failed',
      'delivery show wh_01k9f3zv7h8q2m5x4c6d0n1r8t evt_01m7xzsn3sskhbnh27akn17wp9',
    ],
    async load(command) {
      (await import('./delivery-list.ts')).deliveryList(command);
      (await import('./delivery-show.ts')).deliveryShow(command);
      (await import('./delivery-redeliver.ts')).deliveryRedeliver(command);
    },
  },
  listen: {
    description: 'show new plants as they come, and send them to a receiver of yours',
    load: async (command) => (await import('./listen.ts')).listen(command),
  },
  migrate: {
    description: 'make or update the schema of a PostgreSQL store',
    load: async (command) => (await import('./migrate.ts')).migrate(command),
  },
  copy: {
    description: 'move an embedded store into a PostgreSQL database',
    load: async (command) => (await import('./copy.ts')).copy(command),
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
    examples(
      'serve',
      'user create ann',
      'token create --user ann --expires-in 90d',
      'listen --forward-to http://localhost:4000/hook',
      'token create --help',
    ),
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
