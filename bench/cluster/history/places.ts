import { sharedDuring } from './facts.ts';
import type { Create, Delete, Entry, Feed, FeedEvent, Listed, Page } from './history.ts';

/** The entries of a healthy history: where a violation fits, and how to make it. */
export type Places = ReturnType<typeof placesIn>;

export function placesIn(entries: Entry[], violation: string, graceMs: number) {
  const sorted = sort(entries);

  /** One in the middle. */
  function pick<T>(from: Iterable<T>, isRight: (each: T) => boolean = () => true): T {
    const right = [...from].filter(isRight);
    const picked = right[Math.floor(right.length / 2)];
    if (picked === undefined) throw new Error(`This history has no place for: ${violation}`);
    return picked;
  }
  const shares = entries.filter((entry) => entry.kind === 'share');
  const isShared = (from: number, to: number) => sharedDuring(shares, from - graceMs, to);
  const lists = { ...plantsIn(sorted, pick), ...listsIn(sorted, pick, isShared) };
  return { ...sorted, pick, ...lists, ...tokensIn(entries, pick, graceMs), ...changesOf(entries, sorted) };
}

type Pick = <T>(from: Iterable<T>, isRight?: (each: T) => boolean) => T;
type Sorted = ReturnType<typeof sort>;

function sort(entries: readonly Entry[]) {
  const creates = entries.filter((entry) => entry.kind === 'create');
  const deletes = entries.filter((entry) => entry.kind === 'delete');
  const deliveries = entries.filter((entry) => entry.kind === 'delivery');
  const pages = entries.filter((entry) => entry.kind === 'page').filter(isRead);
  const feeds = entries.filter((entry) => entry.kind === 'feed').filter(isRead);
  const byId = Map.groupBy([...creates, ...deletes], idOf);
  const byName = Map.groupBy(creates, ({ name }) => name);
  const end = entries.find((entry) => entry.kind === 'settled')?.begin ?? 0;
  const run = entries.find((entry) => entry.kind === 'start')?.run;
  return {
    ...{ creates, deletes, deliveries, pages, feeds },
    finalPages: pages.filter(({ begin }) => begin > end),
    finalFeeds: feeds.filter(({ isFinal }) => isFinal),
    /** A name that nobody sent. */
    fresh: `${run}fresh`,
    /** How many requests might have changed the id. */
    uses: (id: string) => byId.get(id)?.length ?? 0,
    /** Whether no other request of its id overlapped it. */
    isCalm: (each: Create | Delete) =>
      (byId.get(idOf(each)) ?? []).every(
        (other) => other === each || other.begin > each.end || other.end < each.begin,
      ),
    /** When a plant was created, if one request did that, and no other ever used its id. */
    loneSince({ id, name }: Listed): number | undefined {
      const [own, ...others] = byName.get(name) ?? [];
      const isLone = own && others.length === 0 && isCreated(own) && byId.get(id)?.length === 1;
      return isLone ? own.end : undefined;
    },
  };
}

function plantsIn({ creates, deletes, deliveries, finalPages, ...sorted }: Sorted, pick: Pick) {
  const { isCalm, loneSince, uses } = sorted;
  return {
    createOf: ({ name }: Listed) => pick(creates, (each) => each.name === name && isCreated(each)),
    /** Existed to the end. */
    kept: () => pick(finalPages[0]?.plants ?? [], (plant) => loneSince(plant) !== undefined),
    keyed: () => pick(creates, (each) => each.key !== undefined && isCreated(each)),
    replay: () => pick(creates, ({ status, replayed }) => status === 201 && replayed === true),
    refused: () => pick(creates, ({ code, key }) => code === 40900 && key === undefined).name,
    assigned: () => creates.filter((each) => each.id === undefined && isCreated(each)),
    calmCreates: creates.filter((each) => each.key === undefined && isCalm(each)),
    calmDeletes: deletes.filter(isCalm),
    /** A plant whose id only its create and this delete used. */
    deleted(): Listed {
      const { id } = pick(deletes, (each) => each.status === 204 && uses(each.id) === 2);
      return { id, name: pick(creates, ({ created }) => created === id).name };
    },
    delivery: () => pick(deliveries, ({ webhook, status }) => webhook === 1 && status < 300),
  };
}

function listsIn(
  { pages, feeds, loneSince }: Sorted,
  pick: Pick,
  isShared: (from: number, to: number) => boolean | undefined,
) {
  const walks = [...Map.groupBy(pages, ({ walk }) => walk).values()];
  return {
    /** A plant that existed throughout a list, or a walk of several pages, and the page that shows it. */
    shownBy(who: Page['reader'], isWalk = false): [Listed, Page[]] {
      const shown = walks.flatMap((walk) => {
        const [first, last] = [walk[0], walk.at(-1)];
        if (first?.reader !== who || !last?.isLast || walk.length > 1 !== isWalk) return [];
        if (who === 'viewer' && isShared(first.begin, last.end) !== true) return [];
        const isOld = (plant: Listed) => (loneSince(plant) ?? first.begin) < first.begin;
        return walk.flatMap((page) =>
          page.plants.filter(isOld).map((plant): [Listed, Page[]] => [plant, [page]]),
        );
      });
      return pick(shown);
    },
    twoPages: () => pick(walks, (walk) => walk.length > 1 && walk.every(({ plants }) => plants.length > 1)),
    unsharedPage: () =>
      pick(
        pages,
        ({ reader, begin, end, plants }) =>
          reader === 'viewer' && plants.length === 0 && isShared(begin, end) === false,
      ),
    feedPage: () => pick(feeds, ({ isFinal, events }) => !isFinal && events.length > 2),
  };
}

function tokensIn(entries: readonly Entry[], pick: Pick, graceMs: number) {
  const revokes = entries.filter((entry) => entry.kind === 'revoke');
  const uses = entries.filter((entry) => entry.kind === 'use');
  const revoke = () => pick(revokes, ({ status }) => status === 204);
  return {
    validUse() {
      const { token, begin } = revoke();
      return pick(uses, (use) => use.token === token && use.end < begin);
    },
    revokedUse() {
      const { token, end } = revoke();
      return pick(uses, (use) => use.token === token && use.begin > end + graceMs);
    },
  };
}

function changesOf(entries: Entry[], { finalFeeds }: Sorted) {
  return {
    change: (entry: Entry | undefined, values: object) => void Object.assign(entry ?? {}, values),
    accept(create: Create): void {
      const { id = '-84', name, tag } = create;
      Object.assign(create, { status: 201, code: undefined, created: id, shown: { name, tag } });
    },
    add: (entry: Entry) => void entries.splice(-1, 0, entry),
    hide(plant: Listed, from: readonly Page[]): void {
      for (const page of from) page.plants = page.plants.filter(({ id }) => id !== plant.id);
    },
    show(plant: Listed, on: readonly Page[]): void {
      for (const page of on) {
        page.plants.push(plant);
        page.plants.sort((one, other) => (BigInt(one.id) < BigInt(other.id) !== page.isDescending ? -1 : 1));
      }
    },
    announce(event: FeedEvent): void {
      for (const parts of Map.groupBy(finalFeeds, ({ follower }) => follower).values())
        parts.at(-1)?.events.push(event);
    },
    remove(isGone: (entry: Entry) => boolean): void {
      entries.splice(0, entries.length, ...entries.filter((entry) => !isGone(entry)));
    },
  };
}

const isCreated = ({ status, replayed }: Create) => status === 201 && !replayed;
const isRead = ({ status }: Page | Feed) => status === 200;
const idOf = (each: Create | Delete) => (each.kind === 'create' ? (each.created ?? each.id) : each.id);
