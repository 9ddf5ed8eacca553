import { type Facts, isUndone, type Plant, type Walk } from './facts.ts';
import type { Create, Delete } from './history.ts';
import { type Step, unexplained } from './register.ts';

const NEVER = Infinity;
const isFree = (held: string | undefined) => held === undefined;
const isTaken = (held: string | undefined) => held !== undefined;

/** Each id whose creates, deletes and lists no order explains, with the step at which that shows. */
export function brokenIds(facts: Facts): string[] {
  const steps = new Map<string, Step[]>();
  const add = (id: string, step: Step) => void (steps.get(id)?.push(step) ?? steps.set(id, [step]));
  for (const plant of facts.plants.values()) addCreates(plant, add);
  for (const entry of facts.entries) if (entry.kind === 'delete') addDelete(entry, add);
  const looks = facts.walks.map((walk) => looksOf(walk, facts));
  return [...steps].flatMap(([id, writes]) => {
    const all = [...writes, ...looks.flatMap((look) => look(id) ?? [])];
    const broken = unexplained(all);
    return broken
      ? [`${id}: ${broken.says} (${broken.op}), which no order explains:${storyOf(all, broken)}`]
      : [];
  });
}

type Add = (id: string, step: Step) => void;

function addCreates({ name, attempts, fate, ids, seenBy }: Plant, add: Add): void {
  const begin = Math.min(...attempts.map((attempt) => attempt.begin));
  const since = ({ replayed, begin: own }: Create) => (replayed ? begin : own);
  for (const attempt of attempts) {
    const { op, id, code, end } = attempt;
    if (code !== 40900 || id === undefined) continue;
    add(id, { op, begin: since(attempt), end, says: 'a create found it taken', accepts: isTaken });
  }
  const [id] = ids;
  if (fate === 'refused' || id === undefined) return;
  const answers = attempts.filter(({ status }) => status === 201);
  const from = Math.max(begin, ...answers.map(since));
  const to = Math.min(seenBy, ...answers.map(({ end }) => end));
  const step = { begin: from, end: Math.max(from, to), accepts: isFree, leaves: { held: name } };
  add(id, { ...step, op: attempts[0]?.op ?? 0, says: `${name} was created` });
}

function addDelete(request: Delete, add: Add): void {
  const { op, id, begin, end, status, code } = request;
  if (code === 40401) add(id, { op, begin, end, says: 'a delete found nothing', accepts: isFree });
  if (isUndone(request)) return;
  const isDone = status === 204;
  const says = isDone ? 'it was deleted' : 'it may have been deleted';
  add(id, { op, begin, end: isDone ? end : NEVER, says, accepts: isTaken, leaves: { held: undefined } });
}

/** What a walk says of an id: the plant that a page shows or, if it ended, that there is none. */
function looksOf(walk: Walk, facts: Facts): (id: string) => Step | undefined {
  const shown = new Map(
    walk.pages.flatMap((page) => page.plants.map(({ id, name }) => [id, { name, page }] as const)),
  );
  const showsAll =
    walk.isComplete && (walk.reader === 'owner' || facts.sharedDuring(walk.begin, walk.end) === true);
  const op = walk.pages[0]?.op ?? 0;
  return (id) => {
    const found = shown.get(id);
    if (found) {
      const { op, begin, end } = found.page;
      return { op, begin, end, says: `a list showed ${found.name}`, accepts: (held) => held === found.name };
    }
    const { begin, end } = walk;
    return showsAll ? { op, begin, end, says: 'a list showed nothing', accepts: isFree } : undefined;
  };
}

const SHOWN = 6;

/** The last writes before it. */
function storyOf(steps: readonly Step[], broken: Step): string {
  const writes = steps.filter(({ leaves, begin }) => leaves && begin <= broken.end);
  return writes
    .sort((one, other) => one.begin - other.begin)
    .slice(-SHOWN)
    .map(({ op, says, begin, end }) => ` ${begin.toFixed(0)} to ${end.toFixed(0)} ms ${says} (${op})`)
    .join(';');
}
