import { type Command, CommanderError } from 'commander';
import { exitCodeOf, messageOf } from './failure.ts';
import { emptyProgram, reportTyposFirst } from './program.ts';
import { ignoreBrokenPipes, insist } from './terminal/terminal.ts';
import { meantArgs } from './unknown-verb.ts';
import { define, examplesFirst, type Verb, type Verbs } from './verb.ts';

/** Headings of the help; those of one group stand together. */
const ofStore = 'Commands for the store itself:';
const ofService = 'Commands for a running service, from anywhere:';
const others = 'Other commands:';

type Entry = {
  heading: string;
  description: string;
  /** Loaded only when asked for: `token list` has no use for a web server. */
  load(): Promise<{ verb: Verb } | { verbs: Verbs; examples: readonly string[] }>;
};

/** A verb, or a noun with verbs of its own. */
const entries: Readonly<Record<string, Entry>> = {
  serve: { heading: ofStore, description: 'run the service', load: () => import('./service/serve.ts') },
  user: {
    heading: ofStore,
    description: 'make, list, disable and delete users',
    load: () => import('./verbs/user.ts'),
  },
  token: {
    heading: ofStore,
    description: 'make, list, rotate and revoke tokens',
    load: () => import('./verbs/token.ts'),
  },
  share: {
    heading: ofStore,
    description: 'let users read the plants of others',
    load: () => import('./verbs/share.ts'),
  },
  plant: {
    heading: ofService,
    description: 'list, create, delete, import and export plants',
    load: () => import('./verbs/plant.ts'),
  },
  webhook: {
    heading: ofService,
    description: 'make, list, try and change webhooks',
    load: () => import('./verbs/webhook.ts'),
  },
  delivery: {
    heading: ofService,
    description: 'list, show and repeat deliveries',
    load: () => import('./verbs/delivery.ts'),
  },
  listen: {
    heading: ofService,
    description: 'show new plants as they come, and send them to a receiver of yours',
    load: () => import('./verbs/listen.ts'),
  },
  migrate: {
    heading: ofStore,
    description: 'make or update the schema of a PostgreSQL store',
    load: () => import('./service/migrate.ts'),
  },
  copy: {
    heading: ofStore,
    description: 'move an embedded store into a PostgreSQL database',
    load: () => import('./service/copy.ts'),
  },
  status: {
    heading: ofService,
    description: 'say how a running service and your webhooks are',
    load: () => import('./verbs/status.ts'),
  },
  doctor: {
    heading: ofStore,
    description: 'check all that the service needs, and say what to do',
    load: () => import('./doctor/doctor.ts'),
  },
  backup: {
    heading: ofStore,
    description: 'write the store of the data folder to a file, while a service runs on it',
    load: () => import('./service/backup.ts'),
  },
  restore: {
    heading: ofStore,
    description: 'put a backup in place of the store in the data folder',
    load: () => import('./service/restore.ts'),
  },
  login: {
    heading: ofService,
    description: 'save where a service is, and the token to act with',
    load: () => import('./verbs/login.ts'),
  },
  logout: {
    heading: ofService,
    description: 'forget a token that login has saved',
    load: () => import('./verbs/logout.ts'),
  },
  completion: {
    heading: others,
    description: 'print what makes a shell complete verbs and options',
    load: () => import('./completion/completion.ts'),
  },
  openapi: {
    heading: others,
    description: 'print the OpenAPI document',
    load: () => import('./verbs/openapi.ts'),
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
  for (const [name, { heading, description, load }] of Object.entries(entries)) {
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
