import { Command, Help } from 'commander';
import { version } from '../config/package.ts';
import { beQuiet, columnsOf, insist, print } from './terminal/terminal.ts';
import { examplesFirst } from './verb.ts';

/** The program without verbs: what is the same for each of them. */
export function emptyProgram(): Command {
  const program = new Command('plant-store')
    .description('A plant store: creates, lists and deletes plants, and announces every new one.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    // `meantArgs` knows the word.
    .helpCommand(false)
    // Commander takes it at any place of the command line, before the verb and behind it.
    .option('-q, --quiet', 'say nothing on standard error but what went wrong')
    .showHelpAfterError('(--help shows what is possible)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => print(...linesOf(wrapped(text))),
      writeErr: (text) => insist(...linesOf(text)),
    })
    .configureHelp(
      examplesFirst(
        'serve',
        'login',
        'plant list',
        'plant import plants.csv',
        'user create ann',
        'token create --user ann --expires-in 90d',
        'listen --forward-to http://localhost:4000/hook',
        'token create --help',
      ),
    );
  // Whoever called it so is told with every verb: the examples have the shorter name.
  const place = process.env.npm_command === 'exec' ? 'afterAll' : 'after';
  program.addHelpText(place, '\nIn a checkout of the project the program is called: npx plant-store');
  return program.hook('preAction', () => {
    if (program.opts<{ quiet?: true }>().quiet) beQuiet();
  });
}

/** Commander ends each of its texts with a line feed. */
function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

/** What a help says behind its options, in paragraphs, as wide as what stands before. Lines that are indented stay. */
function wrapped(text: string): string {
  if (!text.startsWith('\n')) return text;
  const width = columnsOf('output');
  const paragraphs = text.replaceAll(/^(\S.*)\n(?=\S)/gm, '$1 ').split('\n');
  return paragraphs
    .map((paragraph) => (paragraph.startsWith(' ') ? paragraph : fill(paragraph, width)))
    .join('\n');
}

function fill(paragraph: string, width: number): string {
  return new Help().boxWrap(paragraph, width);
}

/**
 * Has an option that there is not reported before one that is missing: of `token create --usr ann` it is the name that
 * is wrong. Nothing runs then.
 */
export function reportTyposFirst(program: Command, args: readonly string[]): void {
  const verb = verbOf(program, args);
  if (!hasUnknownOption(verb, args)) return;
  for (const option of verb.options) option.makeOptionMandatory(false);
}

function verbOf(program: Command, args: readonly string[]): Command {
  let verb = program;
  for (const arg of args) {
    if (arg.startsWith('-')) continue;
    const below = verb.commands.find((command) => command.name() === arg);
    if (below === undefined) return verb;
    verb = below;
  }
  return verb;
}

function hasUnknownOption(verb: Command, args: readonly string[]): boolean {
  const known = verb.createHelp().visibleOptions(verb);
  for (let above = verb.parent; above; above = above.parent) known.push(...above.options);
  let isValue = false;
  for (const arg of args) {
    if (isValue) {
      isValue = false;
      continue;
    }
    if (arg === '--') return false;
    if (!arg.startsWith('--')) continue;
    const option = known.find(({ long }) => long === arg.split('=', 1)[0]);
    if (option === undefined) return true;
    isValue = option.required && !arg.includes('=');
  }
  return false;
}
