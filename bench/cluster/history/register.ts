/** A request, or what one saw, of one id: it takes effect at one instant between its begin and its end. */
export type Step = {
  op: number;
  begin: number;
  /** Infinity: it may also have had no effect at all. */
  end: number;
  /** For a person. */
  says: string;
  /** Whether it may take effect while the id holds this plant, or none. */
  accepts(held: string | undefined): boolean;
  /** What a write leaves: a name, or nothing. */
  leaves?: { held: string | undefined };
};

/** A plant that the id may hold now, and the pending steps that took effect before. */
type State = { held: string | undefined; done: ReadonlySet<Step> };

/**
 * Whether some order of instants explains all steps of an id that holds nothing at first. Returns the first step that
 * none explains. The steps are followed in time: a write takes effect at the latest when the end of a step demands it,
 * and what only looks as soon as it sees what it saw (G. Lowe, "Testing for linearizability", 2017).
 */
export function unexplained(steps: readonly Step[]): Step | undefined {
  const pending = new Set<Step>();
  let states: State[] = [{ held: undefined, done: new Set() }];
  for (const { step, isEnd } of momentsOf(worthwhile(steps))) {
    if (!isEnd) {
      pending.add(step);
      if (!step.leaves) states = states.map((state) => look(state, [step]));
      continue;
    }
    const after = states.flatMap((state) => (state.done.has(step) ? state : reach(state, step, pending)));
    pending.delete(step);
    states = distinct(after.map((state) => without(state, step)));
    if (states.length === 0) return step;
  }
  return undefined;
}

function momentsOf(steps: readonly Step[]): { at: number; step: Step; isEnd: boolean }[] {
  return steps
    .flatMap((step) => [
      { at: step.begin, step, isEnd: false },
      ...(step.end === Infinity ? [] : [{ at: step.end, step, isEnd: true }]),
    ])
    .sort((one, other) => one.at - other.at || Number(one.isEnd) - Number(other.isEnd));
}

/** All states in which `target` has just taken effect, after as few pending writes as possible. */
function reach(from: State, target: Step, pending: ReadonlySet<Step>): State[] {
  const reached: State[] = [];
  for (const open = [from]; open.length > 0; ) {
    const state = open.pop() ?? from;
    for (const write of writesIn(state, pending)) {
      const next = look({ held: write.leaves?.held, done: new Set(state.done).add(write) }, pending);
      (next.done.has(target) ? reached : open).push(next);
    }
  }
  return reached;
}

/** Of deletes with an unknown outcome the earliest stands for all: a later one would change nothing else. */
function writesIn({ held, done }: State, pending: ReadonlySet<Step>): Step[] {
  let hasUnknown = false;
  return [...pending].filter((step) => {
    if (!step.leaves || done.has(step) || !step.accepts(held)) return false;
    const isUnknown = step.end === Infinity;
    const isSpare = isUnknown && hasUnknown;
    hasUnknown ||= isUnknown;
    return !isSpare;
  });
}

function look(state: State, steps: Iterable<Step>): State {
  const done = new Set(state.done);
  for (const step of steps) if (!step.leaves && step.accepts(state.held)) done.add(step);
  return { held: state.held, done };
}

function without({ held, done }: State, step: Step): State {
  const rest = new Set(done);
  rest.delete(step);
  return { held, done: rest };
}

function distinct(states: readonly State[]): State[] {
  if (states.length < 2) return [...states];
  const key = ({ held, done }: State) => `${held} ${[...done].map(({ op }) => op).sort()}`;
  return [...new Map(states.map((state) => [key(state), state])).values()];
}

/** Without looks that repeat another one while no write is pending: they say the same. */
function worthwhile(steps: readonly Step[]): Step[] {
  const writes = steps.filter(({ leaves }) => leaves);
  const times = writes.flatMap(({ begin, end }) => [begin, end]).sort((one, other) => one - other);
  const said = new Set<string>();
  return steps.filter(({ leaves, begin, end, says }) => {
    const before = times.filter((at) => at < begin).length;
    const isQuiet =
      times.every((at) => at < begin || at > end) &&
      writes.every((write) => write.end < begin || write.begin > end);
    if (leaves || !isQuiet) return true;
    const isNew = !said.has(`${before} ${says}`);
    said.add(`${before} ${says}`);
    return isNew;
  });
}
