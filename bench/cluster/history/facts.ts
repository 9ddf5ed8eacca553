import type { Create, Delivery, Entry, Feed, FeedEvent, Page, Revoke, Share, Use } from './history.ts';

/** A history in the order that the rules need. */
export type Facts = {
  entries: readonly Entry[];
  /** By name: what became of each create of this run. */
  plants: Map<string, Plant>;
  walks: Walk[];
  /** The events that a follower read, in order; those of the final followers begin with a negative number. */
  feeds: Map<number, FeedEvent[]>;
  finalFeeds: number[];
  deliveries: Delivery[];
  /** Names that were seen although no create sent them. */
  strangers: Set<string>;
  /** Whether the viewer could certainly read the plants, or certainly not; undefined around a change. */
  sharedDuring(from: number, to: number): boolean | undefined;
  tokens: Map<number, (Revoke | Use)[]>;
};

/** `created` has a 201; `refused`: every answer says that nothing was done, or one is final. */
export type Fate = 'created' | 'refused' | 'unknown';

export type Plant = {
  name: string;
  tag: string | undefined;
  /** Each request with this name: more than one only under a key. */
  attempts: Create[];
  fate: Fate;
  /** As answered and as seen anywhere. */
  ids: Set<string>;
  events: Set<string>;
  tags: Set<string | undefined>;
  /** When it was first known from a list, the feed or a delivery. */
  seenBy: number;
};

export type Walk = {
  walk: number;
  reader: Page['reader'];
  isDescending: boolean;
  /** Answered ones. */
  pages: Page[];
  begin: number;
  end: number;
  isComplete: boolean;
};

export function factsOf(entries: readonly Entry[], graceMs: number): Facts {
  const of = <K extends Entry['kind']>(...kinds: K[]) =>
    // The kind decides the type.
    entries.filter(({ kind }) => kinds.some((each) => each === kind)) as Extract<Entry, { kind: K }>[];
  const [start] = of('start');
  const plants = plantsOf(of('create'));
  const read = of('feed').filter(({ status }) => status === 200);
  const pages = of('page').filter(({ status }) => status === 200);
  const deliveries = of('delivery');
  const strangers = new Set<string>();

  function see({ id, name, ...rest }: Seen, at: number): void {
    if (!name.startsWith(start?.run ?? '')) return;
    const plant = plants.get(name);
    if (plant === undefined) {
      strangers.add(name);
      return;
    }
    plant.ids.add(id);
    plant.seenBy = Math.min(plant.seenBy, at);
    if (rest.event === undefined) return;
    plant.events.add(rest.event);
    plant.tags.add(rest.tag);
  }
  for (const page of pages) for (const each of page.plants) see(each, page.end);
  for (const page of read) for (const each of page.events) see(each, page.end);
  for (const delivery of deliveries) see(delivery, delivery.begin);

  return {
    entries,
    plants,
    walks: [...Map.groupBy(pages, ({ walk }) => walk)].map(([walk, parts]) => walkOf(walk, parts)),
    feeds: feedsOf(read),
    finalFeeds: [...new Set(read.filter(({ isFinal }) => isFinal).map(({ follower }) => follower))],
    deliveries,
    strangers,
    sharedDuring: (from, to) => sharedDuring(of('share'), from - graceMs, to),
    tokens: Map.groupBy(of('revoke', 'use'), ({ token }) => token),
  };
}

type Seen = { id: string; name: string; event?: string; tag?: string };

/** Codes after which a write may have been done; so it may without a code. */
const UNKNOWN = [50301, 50000];
/** Passing refusals: the next attempt may be accepted. */
const PASSING = [40800, 40901, 42900];

/** Whether the answer says that nothing was done. */
export function isUndone({ code }: { code?: number }): boolean {
  return code !== undefined && !UNKNOWN.includes(code);
}

/** Whether all later attempts under the same key must get this answer. */
export function isFinal(answer: Create): boolean {
  const { status, code } = answer;
  return status === 201 || (isUndone(answer) && status < 500 && !PASSING.includes(code ?? 0));
}

function plantsOf(creates: readonly Create[]): Facts['plants'] {
  const groups = Map.groupBy(creates, ({ name }) => name);
  return new Map([...groups].map(([name, attempts]) => [name, plantOf(name, attempts)]));
}

function plantOf(name: string, attempts: Create[]): Plant {
  const isRefused = attempts.every(isUndone) || attempts.some(isFinal);
  const fate = attempts.some(({ status }) => status === 201) ? 'created' : isRefused ? 'refused' : 'unknown';
  return {
    name,
    tag: attempts[0]?.tag,
    attempts,
    fate,
    ids: new Set(attempts.flatMap(({ created }) => created ?? [])),
    events: new Set(),
    tags: new Set(),
    seenBy: Infinity,
  };
}

function walkOf(walk: number, pages: Page[]): Walk {
  const [first, last] = [pages[0], pages.at(-1)];
  return {
    walk,
    reader: first?.reader ?? 'owner',
    isDescending: first?.isDescending ?? false,
    pages,
    begin: first?.begin ?? 0,
    end: last?.end ?? 0,
    isComplete: last?.isLast === true,
  };
}

function feedsOf(pages: readonly Feed[]): Facts['feeds'] {
  const groups = Map.groupBy(pages, ({ follower }) => follower);
  return new Map([...groups].map(([follower, parts]) => [follower, parts.flatMap(({ events }) => events)]));
}

/** By the last change that was over before `from`, unless an opposite one began since. */
export function sharedDuring(shares: readonly Share[], from: number, to: number): boolean | undefined {
  const last = shares.filter(({ isDone, end }) => isDone && end <= from).at(-1);
  if (last === undefined) return undefined;
  const isChanging = shares.some(
    ({ begin, isShared }) => begin >= last.begin && begin <= to && isShared !== last.isShared,
  );
  return isChanging ? undefined : last.isShared;
}
