import type { Caller } from '../idempotency/port.ts';
import type { Trace } from '../tracing/port.ts';
import type { PlantId } from './plant.ts';

/** What plants need from a store. Both adapters pass the suite in `test/store/`. */
export interface PlantStore {
  /**
   * Adds a plant, its event, and one delivery for each webhook subscribed to the owner's plants: all or nothing.
   * Resolves when the transaction is on disk.
   *
   * Without an id, it assigns the next one of the owner's counter. The counter starts at 1, skips taken ids, ignores
   * ids that clients choose, never goes back and ends at `LAST_ASSIGNED_ID`. So an id is assigned only once, even
   * after its plant is deleted. Gaps are possible.
   * @throws AppError 40101 when the caller is disabled or deleted, 40901 when another request used their key
   * meanwhile
   */
  create(plant: NewPlant, caller?: Caller): Promise<CreateOutcome>;

  /** Deletes the owner's plant. False when there is none. Events and deliveries stay. */
  delete(owner: number, id: PlantId, caller?: Caller): Promise<boolean>;

  /**
   * One page: the viewer's own plants in the given order, then plants that other users share with them, by the owner's
   * name and in that order. Those of an owner come from one snapshot. Keeps nothing open between calls.
   * @throws AppError 40007 when the owner at whose plants it begins no longer exists
   */
  page(query: PageQuery): Promise<PlantPage>;

  /**
   * Whether every plant that the viewer may read has its folded name. False while an update from a version without
   * folded names is in progress (`ChoreStore.advance`).
   */
  hasNames(viewer: number): Promise<boolean>;

  /**
   * A stamp of everything that the viewer's lists depend on: while it stays the same, so does each of them. A request
   * that arrives after anyone could learn of a write finds it changed. Absent in a store that would have to ask its
   * database.
   * @param isBeforeReading makes later reads at least as new as the stamp
   */
  stamp?(viewer: number, isBeforeReading?: boolean): string;

  /**
   * Where a list of at most `count` plants ends. Reads only ids, a part at a time, so that other requests proceed
   * however far the end is.
   */
  end(query: EndQuery): Promise<ListEnd>;

  /** Where the last `count` plants of a list begin; undefined when there are none. Reads only ids, from the end. */
  lastPage(query: LastPageQuery): Promise<Position | undefined>;
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
  /** Stored with the event, so that its deliveries continue the trace. */
  trace?: Trace | undefined;
};

/**
 * The id of the new plant, or why nothing was added. `taken`: the owner has a plant with this id; `full`: the owner has
 * this many plants, the limit; `spent`: no assignable id is left.
 */
export type CreateOutcome = PlantId | 'taken' | 'spent' | { full: number };

export const plantFields = ['id', 'name', 'tag', 'owner'] as const;
export type PlantField = (typeof plantFields)[number];

/**
 * How each owner's plants are ordered: by id, by descending id, or by folded name (`foldName`) and then id. The last has
 * only the names that start with a prefix, which is folded too.
 */
export type ListOrder = 'id' | 'descending' | { prefix: string };

export type PageQuery = {
  viewer: number;
  /** By id when absent; the same for all pages of a list. */
  order?: ListOrder | undefined;
  /** Where the page begins; undefined for the start of the list. */
  from: Position | undefined;
  /** The last position the page may contain; undefined for the end of the list. */
  through: Position | undefined;
  /** The highest id of each owner that it may contain, and no other owners; undefined for no bound. */
  ends?: Ends | undefined;
  limit: number;
  fields: readonly PlantField[];
};

/** A position in a list: at this plant, or where it would be. `name`: its folded name, in a list by name. */
export type Position = { owner: number; id: PlantId; name?: string };

export type PlantPage = {
  /**
   * The plants as JSON objects, separated by a comma and white space; empty when there are none. Text, because a
   * database writes JSON several times faster than JavaScript converts rows to objects and back.
   */
  json: string;
  count: number;
  /** Where the list continues; undefined at its end. */
  next: Position | undefined;
};

/** Without `count`, the end of the whole list. */
export type EndQuery = Pick<PageQuery, 'viewer' | 'order' | 'from'> & { count: number | undefined };

type LastPageQuery = Pick<PageQuery, 'viewer' | 'order'> & { count: number };

export type ListEnd = {
  /** The position of the last plant; undefined when there is none. */
  last: Position | undefined;
  /** Where the list continues; undefined at its end. */
  next: Position | undefined;
  /** Each owner's highest id when the search for the end began. Plants with higher ids, added since, are not in the list. */
  ends: Ends;
};

/** By owner. */
export type Ends = ReadonlyMap<number, PlantId>;
