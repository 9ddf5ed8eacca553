import type { Command } from 'commander';

/** Synonyms: who types one of them may mean another. */
const WORDS: readonly (readonly string[])[] = [
  ['list', 'ls'],
  ['create', 'add', 'new', 'make'],
  ['delete', 'remove', 'revoke', 'rm', 'del'],
  ['show', 'get', 'view', 'describe'],
  ['update', 'edit', 'change'],
  ['redeliver', 'retry', 'resend'],
  ['serve', 'start', 'run', 'server'],
  ['watch', 'tail', 'follow', 'stream'],
  ['status', 'health', 'ping'],
  ['backup', 'dump'],
  ['migrate', 'upgrade'],
  ['import', 'load'],
  ['export', 'save'],
];

/** The group that a bare verb such as `list` may belong to. */
const GROUP = 'plant';
const VERBS_OF_GROUP: readonly string[] = ['list', 'create', 'delete', 'import', 'export'];

/** Turns `help plant list` into `plant list --help`. For an unknown verb, suggests another and exits with 2. */
export function meantArgs(program: Command, args: readonly string[]): readonly string[] {
  const path: string[] = [];
  let verb = program;
  let wantsHelp = false;
  for (const arg of args) {
    if (arg === '--' || verb.commands.length === 0) break;
    if (arg.startsWith('-')) continue;
    if (arg === 'help') {
      wantsHelp = true;
      continue;
    }
    const below = verb.commands.find((command) => command.name() === arg);
    // Here, before Commander would print the help.
    if (below === undefined) return refuse(verb, path, arg);
    path.push(arg);
    verb = below;
  }
  return wantsHelp ? [...path, '--help'] : args;
}

/** Leaves misspelt words to Commander, which suggests similar ones. */
function refuse(verb: Command, path: readonly string[], word: string): readonly string[] {
  const meant = otherWord(verb, word);
  if (meant === undefined) return [...path, word];
  return verb.error(`error: unknown command '${word}'\n(Did you mean ${meant}?)`, { exitCode: 2 });
}

function otherWord(verb: Command, word: string): string | undefined {
  const words = WORDS.find((each) => each.includes(word)) ?? [];
  const below = verb.commands.find((command) => words.includes(command.name()));
  if (below !== undefined) return below.name();
  const ofGroup = verb.parent ? undefined : VERBS_OF_GROUP.find((name) => words.includes(name));
  return ofGroup && `${GROUP} ${ofGroup}`;
}
