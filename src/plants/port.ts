import type { Caller } from '../idempotency/port.ts';
import type { Trace } from '../tracing/port.ts';
import type { PlantId } from './plant.ts';

/** What plants need of a store. Both adapters pass the suite in `test/store/`. */
export interface PlantStore {
  /**
   * Adds a plant, its event, and one delivery for each webhook that is subscribed to the owner's plants:
   * all of them or none. Resolves when the transaction is on disk.
   *
   * Without an id, the next one of the owner's counter. That starts at 1, steps over ids that are taken, and is not
   * moved by ids that clients choose otherwise. It never goes back, so that an id is assigned once, also when its plant
   * is deleted, and ends at `LAST_ASSIGNED_ID`. Gaps are possible.
   *
   * @throws AppError 40101 when the caller is disabled or deleted, 40901 when their key was used by a request that came
   * in between
   */
  create(plant: NewPlant, caller?: Caller): Promise<CreateOutcome>;

  /** Removes the owner's plant. False when there is none. Events and deliveries stay. */
  delete(owner: number, id: PlantId, caller?: Caller): Promise<boolean>;

  /**
   * One page, from a consistent state of the store: of the viewer's own plants by id, then of those that other users
   * share with them, by owner's name and id. Holds nothing open between two calls.
   *
   * @throws AppError 40007 when the owner at whose plants it begins does not exist any more
   */
  page(query: PageQuery): Promise<PlantPage>;

  /**
   * Where a list of at most `count` plants ends. Looks at ids only, a part at a time, so that
   * other requests are not held up however far the end is.
   */
  end(query: EndQuery): Promise<ListEnd>;
}

export type NewPlant = {
  owner: number;
  id: PlantId | undefined;
  name: string;
  tag: string | undefined;
  /** The event that announces the plant. */
  event: string;
  /** Milliseconds since the Unix epoch. */
  at: number;
  /** Kept with the event: its deliveries go on from there. */
  trace?: Trace | undefined;
};

/**
 * `taken`: the owner already has a plant with this id; `full`: they have so many; `spent`: there is no id left to be
 * assigned. Nothing was added.
 */
export type CreateOutcome = { created: PlantId } | { taken: PlantId } | { full: number } | { spent: true };

export const plantFields = ['id', 'name', 'tag', 'owner'] as const;
export type PlantField = (typeof plantFields)[number];

export type PageQuery = {
  viewer: number;
  /** Where the page begins; undefined for the beginning of the list. */
  from: Position | undefined;
  /** The last position that may be on the page; undefined for the end of the list. */
  through: Position | undefined;
  /** The last plant of each owner that may be on it, and none of anybody else; undefined for all there are. */
  ends?: Ends | undefined;
  limit: number;
  fields: readonly PlantField[];
};

/** A place in a list: at this plant, or where it would stand. */
export type Position = { owner: number; id: PlantId };

export type PlantPage = {
  /**
   * The plants as JSON objects, separated by a comma and white space; empty when there are none. Text, because a database
   * writes JSON several times faster than rows are turned into objects and back.
   */
  json: string;
  count: number;
  /** Where the list goes on behind this page; undefined when it does not. */
  next: Position | undefined;
};

/** Without `count`, the end of the whole list. */
export type EndQuery = { viewer: number; from: Position | undefined; count: number | undefined };

export type ListEnd = {
  /** The position of the last plant; undefined when there is none. */
  last: Position | undefined;
  /** Where the list goes on behind it; undefined when it does not. */
  next: Position | undefined;
  /** With `count`: where each owner's plants ended when it was begun to count. What was added behind is not counted. */
  ends: Ends | undefined;
};

/** By owner. */
export type Ends = ReadonlyMap<number, PlantId>;
