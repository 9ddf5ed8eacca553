import { type Command, CommanderError } from 'commander';
import { examplesFirst } from './examples.ts';
import { exitCodeOf, messageOf } from './failure.ts';
import { emptyProgram, reportTyposFirst } from './program.ts';
import { ignoreBrokenPipes, insist } from './terminal.ts';
import { meantArgs } from './unknown-verb.ts';

/** Headings of the help; those of one group stand together. */
const ofStore = 'Commands for the store itself:';
const ofService = 'Commands for a running service, from anywhere:';
const others = 'Other commands:';

type Group = {
  description: string;
  heading: string;
  /** Of a group of verbs; a verb brings its own. */
  examples?: readonly string[];
  /** Loaded only when asked for: `token list` has no use for a web server. */
  load(command: Command): Promise<void>;
};

const groups: Readonly<Record<string, Group>> = {
  serve: {
    description: 'run the service',
    heading: ofStore,
    load: async (command) => (await import('./serve.ts')).serve(command),
  },
  user: {
    description: 'make, list, disable and delete users',
    heading: ofStore,
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
    heading: ofStore,
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
    heading: ofStore,
    examples: ['share add --owner ann --viewer bob', 'share list', 'share remove --owner ann --viewer bob'],
    async load(command) {
      (await import('./share-add.ts')).shareAdd(command);
      (await import('./share-list.ts')).shareList(command);
      (await import('./share-remove.ts')).shareRemove(command);
    },
  },
  plant: {
    description: 'list, create, delete, import and export plants',
    heading: ofService,
    examples: [
      'plant list',
      'plant create Alder --tag Alnus',
      'plant import plants.csv',
      'plant export plants.csv',
    ],
    async load(command) {
      (await import('./plant-list.ts')).plantList(command);
      (await import('./plant-create.ts')).plantCreate(command);
      (await import('./plant-delete.ts')).plantDelete(command);
      (await import('./plant-import.ts')).plantImport(command);
      (await import('./plant-export.ts')).plantExport(command);
    },
  },
  webhook: {
    description: 'make, list, try and change webhooks',
    heading: ofService,
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
    description: 'list, show and repeat deliveries',
    heading: ofService,
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
    heading: ofService,
    load: async (command) => (await import('./listen.ts')).listen(command),
  },
  migrate: {
    description: 'make or update the schema of a PostgreSQL store',
    heading: ofStore,
    load: async (command) => (await import('./migrate.ts')).migrate(command),
  },
  copy: {
    description: 'move an embedded store into a PostgreSQL database',
    heading: ofStore,
    load: async (command) => (await import('./copy.ts')).copy(command),
  },
  status: {
    description: 'say how a running service and your webhooks are',
    heading: ofService,
    load: async (command) => (await import('./status.ts')).status(command),
  },
  doctor: {
    description: 'check all that the service needs, and say what to do',
    heading: ofStore,
    load: async (command) => (await import('./doctor.ts')).doctor(command),
  },
  backup: {
    description: 'write the store of the data folder to a file, while a service runs on it',
    heading: ofStore,
    load: async (command) => (await import('./backup.ts')).backup(command),
  },
  restore: {
    description: 'put a backup in place of the store in the data folder',
    heading: ofStore,
    load: async (command) => (await import('./restore.ts')).restore(command),
  },
  login: {
    description: 'save where a service is, and the token to act with',
    heading: ofService,
    load: async (command) => (await import('./login.ts')).login(command),
  },
  logout: {
    description: 'forget a token that login has saved',
    heading: ofService,
    load: async (command) => (await import('./logout.ts')).logout(command),
  },
  completion: {
    description: 'print what makes a shell complete verbs and options',
    heading: others,
    load: async (command) => (await import('./completion.ts')).completion(command),
  },
  openapi: {
    description: 'print the OpenAPI document',
    heading: others,
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
    await program.parseAsync(meantArgs(program, args), { from: 'user' });
  } catch (error) {
    // Commander has already said what is wrong with the usage.
    if (!(error instanceof CommanderError)) insist(...messageOf(error));
    process.exitCode = exitCodeOf(error);
  }
}

async function createProgram(args: readonly string[]): Promise<Command> {
  const program = emptyProgram();
  const asked = args.filter((arg) => !arg.startsWith('-') && arg !== 'help')[0];
  for (const [name, group] of Object.entries(groups)) {
    const command = program
      .command(name)
      .description(group.description)
      .helpGroup(group.heading)
      .helpCommand(false);
    if (name !== asked && asked !== 'completion') continue;
    if (group.examples) command.configureHelp(examplesFirst(...group.examples));
    await group.load(command);
  }
  reportTyposFirst(program, args);
  return program;
}
