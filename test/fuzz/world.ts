import type { Client } from './client.ts';
import type { Answered } from './ground.ts';

/** What a sequence of requests should have made of the store: the model that the answers are compared with. */
export type World = {
  people: readonly Person[];
  /** Everything that was created, in that order. */
  log: Happening[];
  /** What was sent, for a person who looks into a failure. */
  trail: string[];
  /** Further connections, for what is sent at the same time. */
  clients: readonly Client[];
};

export type Person = {
  index: number;
  name: string;
  token: string;
  plants: Map<bigint, Plant>;
  webhooks: Hook[];
  /** Whose plants this one may read. */
  sharing: Set<Person>;
  /** Answers by path and Idempotency-Key. */
  kept: Map<string, Kept>;
  feed: FeedPlace | undefined;
};

export type Plant = { name: string; tag?: string };

/** Names are unique in a world, so that an event tells which of these it is. */
export type Happening = { owner: Person; id: bigint; plant: Plant };

export type Kept = { body: string; answer: Answered };

export type Hook = {
  id: string;
  members: { url: string; description?: string; rate?: number };
  isEnabled: boolean;
  /** The plants' names of its deliveries, oldest first; undefined when a share was removed, which may drop some. */
  deliveries: string[] | undefined;
};

export type FeedPlace = {
  cursor: string;
  /** Events from this one in the log on may follow; those before were given, or are not behind the cursor. */
  first: number;
  /** Events from this one on must follow, of those in `owners`. */
  position: number;
  /** Who could be seen all the time since. */
  owners: Set<Person>;
};

export type Row = { id: bigint; name: string; tag?: string; owner: string };

/** Contract, section 1: the own plants, then those of others by the owner's name. */
export function ownersFor(viewer: Person): Person[] {
  const others = [...viewer.sharing].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  return [viewer, ...others];
}

export function listFor(viewer: Person): Row[] {
  return ownersFor(viewer).flatMap((owner) =>
    [...owner.plants]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, plant]) => ({ id, ...plant, owner: owner.name })),
  );
}

/** Whom the owner's plants concern: the owner, and everybody who sees them. */
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
