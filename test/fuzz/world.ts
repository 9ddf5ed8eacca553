import type { Client } from './client.ts';
import type { Order } from './commands.ts';
import type { Answered } from './ground.ts';

/** The model: what a sequence of requests should have made of the store. */
export type World = {
  people: readonly Person[];
  /** Everything created, in order. */
  log: Happening[];
  /** The requests, for a person who examines a failure: texts that are made only then. */
  trail: (() => string)[];
  /** More connections, for concurrent requests. */
  clients: readonly Client[];
};

export type Person = {
  index: number;
  name: string;
  token: string;
  plants: Map<bigint, Plant>;
  webhooks: Hook[];
  /** The owners whose plants this person may read. */
  sharing: Set<Person>;
  /** Answers by path and Idempotency-Key. */
  kept: Map<string, Kept>;
  feed: FeedPlace | undefined;
};

export type Plant = { name: string; tag?: string };

/** Names are unique in a world, so a name identifies an event. */
export type Happening = { owner: Person; id: bigint; plant: Plant };

export type Kept = { body: string; answer: Answered };

export type Hook = {
  id: string;
  members: { url: string; description?: string; rate?: number };
  isEnabled: boolean;
  /** Plant names of its deliveries, oldest first; undefined once a share was removed, which may drop some. */
  deliveries: string[] | undefined;
};

export type FeedPlace = {
  cursor: string;
  /** Events from this index on may follow; earlier ones were returned, or are before the cursor. */
  first: number;
  /** Events of `owners` from this index on must follow. */
  position: number;
  /** Who was visible all the time since. */
  owners: Set<Person>;
};

export type Row = { id: bigint; name: string; tag?: string; owner: string };

/** Contract, section 1: own plants first, then others' by owner name. */
export function ownersFor(viewer: Person): Person[] {
  const others = [...viewer.sharing].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  return [viewer, ...others];
}

export function listFor(viewer: Person, order: Order = undefined): Row[] {
  return ownersFor(viewer).flatMap((owner) =>
    [...owner.plants]
      .map(([id, plant]) => ({ id, ...plant, owner: owner.name }))
      .filter(({ name }) => typeof order !== 'object' || folded(name).startsWith(folded(order.name)))
      .sort((one, other) => compare(one, other, order)),
  );
}

/** Compares plants of one owner; negative when `one` comes first. */
export function compare(one: Row, other: Row, order: Order): number {
  const byId = one.id < other.id ? -1 : 1;
  if (typeof order !== 'object') return order === 'desc' ? -byId : byId;
  return Buffer.compare(Buffer.from(folded(one.name)), Buffer.from(folded(other.name))) || byId;
}

/** Letter by letter, so that no letter depends on its neighbours. */
function folded(text: string): string {
  const lower = Array.from(text.normalize(), (letter) => letter.toLowerCase().replace('\u03c2', '\u03c3'));
  return lower.join('').normalize();
}

/** Who is notified of the owner's plants: the owner and all viewers. */
export function viewersOf(world: World, owner: Person): Person[] {
  return world.people.filter((person) => person === owner || person.sharing.has(owner));
}

export function addPlant(world: World, owner: Person, id: bigint, plant: Plant): void {
  owner.plants.set(id, plant);
  world.log.push({ owner, id, plant });
  for (const viewer of viewersOf(world, owner)) {
    for (const hook of viewer.webhooks) hook.deliveries?.push(plant.name);
  }
}

export function addShare(owner: Person, viewer: Person): void {
  viewer.sharing.add(owner);
}

export function removeShare(owner: Person, viewer: Person): void {
  viewer.sharing.delete(owner);
  viewer.feed?.owners.delete(owner);
  for (const hook of viewer.webhooks) hook.deliveries = undefined;
}
