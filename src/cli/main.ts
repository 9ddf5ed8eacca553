import { type Command, CommanderError } from 'commander';
import { exitCodeOf, messageOf } from './failure.ts';
import { emptyProgram, reportTyposFirst } from './program.ts';
import { ignoreBrokenPipes, insist } from './terminal/terminal.ts';
import { meantArgs } from './unknown-verb.ts';
import { define, examplesFirst, type Verb, type Verbs } from './verb.ts';

/** Loaded only when asked for: `token list` has no use for a web server. */
type Load = () => Promise<{ verb: Verb } | { verbs: Verbs; examples: readonly string[] }>;

type Group = Readonly<Record<string, readonly [description: string, load: Load]>>;

/** The verbs, and the nouns with verbs of their own, under the headings of the help. */
const groups: Readonly<Record<string, Group>> = {
  'Commands for the store itself:': {
    serve: ['run the service', () => import('./service/serve.ts')],
    user: ['make, list, disable and delete users', () => import('./verbs/user.ts')],
    token: ['make, list, rotate and revoke tokens', () => import('./verbs/token.ts')],
    share: ['let users read the plants of others', () => import('./verbs/share.ts')],
    migrate: ['make or update the schema of a PostgreSQL store', () => import('./service/migrate.ts')],
    copy: ['move an embedded store into a PostgreSQL database', () => import('./service/copy.ts')],
    doctor: ['check all that the service needs, and say what to do', () => import('./doctor/doctor.ts')],
    backup: [
      'write the store of the data folder to a file, while a service runs on it',
      () => import('./service/backup.ts'),
    ],
    restore: ['put a backup in place of the store in the data folder', () => import('./service/restore.ts')],
  },
  'Commands for a running service, from anywhere:': {
    plant: ['list, create, delete, import and export plants', () => import('./verbs/plant.ts')],
    webhook: ['make, list, try and change webhooks', () => import('./verbs/webhook.ts')],
    delivery: ['list, show and repeat deliveries', () => import('./verbs/delivery.ts')],
    listen: [
      'show new plants as they come, and send them to a receiver of yours',
      () => import('./verbs/listen.ts'),
    ],
    status: ['say how a running service and your webhooks are', () => import('./verbs/status.ts')],
    login: ['save where a service is, and the token to act with', () => import('./verbs/login.ts')],
    logout: ['forget a token that login has saved', () => import('./verbs/logout.ts')],
  },
  'Other commands:': {
    completion: [
      'print what makes a shell complete verbs and options',
      () => import('./completion/completion.ts'),
    ],
    openapi: ['print the OpenAPI document', () => import('./verbs/openapi.ts')],
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
    await program.parseAsync(meantArgs(program, args), { from: 'user' });
  } catch (error) {
    // Commander has already said what is wrong with the usage.
    if (!(error instanceof CommanderError)) insist(...messageOf(error));
    process.exitCode = exitCodeOf(error);
  }
}

async function createProgram(args: readonly string[]): Promise<Command> {
  const program = emptyProgram();
  const asked = args.find((arg) => !arg.startsWith('-') && arg !== 'help');
  const entries = Object.entries(groups).flatMap(([heading, verbs]) =>
    Object.entries(verbs).map(([name, entry]) => [heading, name, ...entry] as const),
  );
  for (const [heading, name, description, load] of entries) {
    const command = program.command(name).description(description).helpGroup(heading).helpCommand(false);
    // What completes the verbs has to know them all.
    if (name !== asked && asked !== 'completion') continue;
    const loaded = await load();
    if ('verb' in loaded) define(command, loaded.verb);
    else {
      command.configureHelp(examplesFirst(...loaded.examples));
      for (const [below, verb] of Object.entries(loaded.verbs)) define(command.command(below), verb);
    }
  }
  reportTyposFirst(program, args);
  return program;
}
