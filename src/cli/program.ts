import { Command, Help } from 'commander';
import { version } from '../config/package.ts';
import { beQuiet, columnsOf, insist, print } from './terminal/terminal.ts';
import { examplesFirst } from './verb.ts';

export function emptyProgram(): Command {
  const program = new Command('plant-store')
    .description('A plant store: create, list and delete plants, and send every new one to webhooks.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    // `meantArgs` handles it.
    .helpCommand(false)
    // Commander accepts it anywhere on the command line.
    .option('-q, --quiet', 'print only errors on standard error')
    .showHelpAfterError('(See --help for usage.)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => print(...linesOf(wrapped(text))),
      writeErr: (text) => insist(...linesOf(text.replaceAll(SECRET, '$1…'))),
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

/** A token or a signing secret: Commander repeats what is in the wrong place. */
const SECRET = /\b(pst_|whsec_|eyJ)[^\s'",]+/g;

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
