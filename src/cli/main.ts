import { Command, CommanderError, Help } from 'commander';
import { version } from '../config/package.ts';
import { exitCodeOf, messageOf } from './failure.ts';
import { beQuiet, columnsOf, ignoreBrokenPipes, insist, print, printJson } from './terminal/terminal.ts';
import { meantArgs } from './unknown-verb.ts';
import { define, examplesFirst, type Verb, type Verbs } from './verb.ts';

/** Loads a verb only when it is needed: `token list` needs no web server. */
type Load = () => Promise<{ verb: Verb } | { verbs: Verbs }>;

type Group = Readonly<Record<string, readonly [description: string, load: Load]>>;

const groups: Readonly<Record<string, Group>> = {
  'Commands for the store itself:': {
    serve: ['run the service', () => import('./service/serve.ts')],
    user: ['create, list, disable and delete users', () => import('./verbs/user.ts')],
    token: ['create, list, rotate and revoke tokens', () => import('./verbs/token.ts')],
    share: ["let users read other users' plants", () => import('./verbs/share.ts')],
    migrate: ['create or update the schema of a PostgreSQL store', () => import('./service/migrate.ts')],
    copy: ['copy an embedded store to a PostgreSQL database', () => import('./service/copy.ts')],
    doctor: ['check everything the service needs and say what to fix', () => import('./doctor/doctor.ts')],
    backup: [
      "back up the data folder's store to a file, even while the service runs",
      () => import('./service/backup.ts'),
    ],
    restore: ["replace the data folder's store with a backup", () => import('./service/restore.ts')],
  },
  'Commands for a running service, from anywhere:': {
    plant: ['list, create, delete, import and export plants', () => import('./verbs/plant.ts')],
    webhook: ['create, list, test and change webhooks', () => import('./verbs/webhook.ts')],
    delivery: ['list, show and resend deliveries', () => import('./verbs/delivery.ts')],
    event: ['list and watch events', () => import('./verbs/event.ts')],
    listen: [
      'show new plants as they arrive and forward them to your receiver',
      () => import('./verbs/listen.ts'),
    ],
    status: ['show the health of a service and of your webhooks', () => import('./verbs/status.ts')],
    whoami: [
      'show the user and the scopes of your token',
      async () => ({ verb: (await import('./verbs/login.ts')).whoami }),
    ],
    login: ["save a service's URL and a token", () => import('./verbs/login.ts')],
    logout: [
      'forget a saved URL and token',
      async () => ({ verb: (await import('./verbs/login.ts')).logout }),
    ],
  },
  'Other commands:': {
    completion: [
      'print a script that completes verbs and options in your shell',
      () => import('./verbs/completion.ts'),
    ],
    version: [
      'print the version',
      async () => ({ verb: { examples: ['version'], run: async () => print([version]) } }),
    ],
    openapi: ['print the OpenAPI document', async () => ({ verb: openapi })],
  },
};

const openapi: Verb = {
  examples: ['openapi > openapi.json', "openapi | jq '.paths | keys'"],
  async run() {
    const { openapiDocument } = await import('../http/routes/openapi.ts');
    printJson(openapiDocument());
  },
};

/**
 * Runs the command line and sets the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Standard output gets
 * only data; messages go to standard error.
 * @param args the arguments after the program's name
 */
export async function main(args: readonly string[]): Promise<void> {
  ignoreBrokenPipes();
  try {
    const program = await createProgram(args);
    await program.parseAsync(meantArgs(program, args), { from: 'user' });
  } catch (error) {
    // Commander has already reported wrong usage.
    if (!(error instanceof CommanderError)) insist(...messageOf(error));
    // A verb that a signal stops may fail, too.
    process.exitCode ||= exitCodeOf(error);
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
    // Completion needs all verbs.
    if (name !== asked && asked !== 'completion') continue;
    const loaded = await load();
    if ('verb' in loaded) define(command, loaded.verb);
    else {
      command.configureHelp(
        examplesFirst(...Object.values(loaded.verbs).map(({ examples: [first] }) => first)),
      );
      for (const [below, verb] of Object.entries(loaded.verbs)) define(command.command(below), verb);
    }
  }
  return program;
}

function emptyProgram(): Command {
  const program = new Command('plant-store')
    .description('A plant store: create, list and delete plants, and send every new one to webhooks.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    // `meantArgs` handles it.
    .helpCommand(false)
    // Commander accepts it anywhere on the command line.
    .option('-q, --quiet', 'print only results, errors, questions')
    .showHelpAfterError('(See --help for usage.)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => print(linesOf(wrapped(text))),
      writeErr: (text) => insist(...linesOf(text.replaceAll(SECRET, '$1$2…'))),
    })
    .configureHelp(
      examplesFirst(
        'serve',
        'login',
        'plant list',
        'plant import plants.csv',
        'user create ann',
        'token create --user ann --expires-in 90d',
        'listen --forward-to localhost:4000/hook',
        'token create --help',
      ),
    );
  program.addHelpText(
    'after',
    '\nIn a checkout of the project, run this first: export PATH="$PWD/bin:$PATH"',
  );
  return program.hook('preAction', () => {
    beQuiet(program.opts<{ quiet?: true }>().quiet === true);
  });
}

/** A token, a signing secret or the URL of a database: Commander repeats what is in the wrong place. */
const SECRET = /\b(?:(pst_|whsec_|eyJ)[^\s'",]+|(postgres(?:ql)?:\/\/)\S+)/g;

/** Commander ends each text with a line feed. */
function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

/** Wraps the paragraphs below the options to the terminal's width. Indented lines stay as they are. */
function wrapped(text: string): string {
  if (!text.startsWith('\n')) return text;
  const width = columnsOf('output');
  const paragraphs = text.replaceAll(/^(\S.*)\n(?=\S)/gm, '$1 ').split('\n');
  return paragraphs
    .map((paragraph) => (paragraph.startsWith(' ') ? paragraph : new Help().boxWrap(paragraph, width)))
    .join('\n');
}
