import type { Command } from 'commander';

/** Words for one thing: whoever types one of them may mean the verb that is called by another. */
const WORDS: readonly (readonly string[])[] = [
  ['list', 'ls'],
  ['create', 'add', 'new', 'make'],
  ['delete', 'remove', 'revoke', 'rm', 'del'],
  ['show', 'get', 'view', 'describe'],
  ['update', 'edit', 'change'],
  ['redeliver', 'retry', 'resend'],
  ['serve', 'start', 'run', 'server'],
  ['status', 'health', 'ping'],
  ['backup', 'dump'],
  ['migrate', 'upgrade'],
  ['import', 'load'],
  ['export', 'save'],
];

/** What a verb without its group is about. */
const GROUP = 'plant';
const VERBS_OF_GROUP: readonly string[] = ['list', 'create', 'delete', 'import', 'export'];

/**
 * The arguments as the program understands them: `help plant list` asks what `plant list --help` does. Ends the program
 * with 2 when there is no such verb, help or not, and says which one may be meant.
 */
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
    // Without anything that would be done first, such as showing the help.
    if (below === undefined) return refuse(verb, path, arg);
    path.push(arg);
    verb = below;
  }
  return wantsHelp ? [...path, '--help'] : args;
}

/** Words that are misspelt are left to Commander, which knows what they are like. */
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
