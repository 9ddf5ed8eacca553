import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { list as limits } from '../../limits.ts';
import { MAX_ID, MIN_ID, type PlantId } from '../../plants/plant.ts';
import type { EndQuery, ListEnd, NewPlant, PageQuery, PlantField, PlantPage } from '../../plants/port.ts';
import type { Snapshot } from './snapshot.ts';

/** The statements that write plants, for the connection that writes. */
export function plantWrites(db: DatabaseSync, announce: (plant: NewPlant & { id: PlantId }) => void) {
  const insert = db.prepare(
    `INSERT INTO plants (owner, id, name, tag, created_at)
     VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  );
  const remove = db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?');
  const { nextFree, note, removed, forget } = freeIds(db);

  return {
    /** The id of the plant, or null when it is taken. Positional, because objects are slow to send to a thread. */
    create(
      owner: number,
      wanted: PlantId | undefined,
      name: string,
      tag: string | undefined,
      event: string,
      at: number,
    ): PlantId | null {
      const id = wanted ?? nextFree(owner);
      if (insert.run(owner, id, name, tag ?? null, at).changes === 0) return null;
      note(owner, id);
      announce({ owner, id, name, tag, event, at });
      return id;
    },
    delete(owner: number, id: PlantId): boolean {
      removed(owner);
      return remove.run(owner, id).changes > 0;
    },
    /** For the beginning of a transaction: what earlier ones knew may have changed. */
    forgetIds: forget,
  };
}

/** Finds the next free id of an owner, and remembers the highest one while a transaction lasts. */
function freeIds(db: DatabaseSync) {
  const highest = db.prepare('SELECT max(id) AS id FROM plants WHERE owner = ?');
  highest.setReadBigInts(true);
  const highestGap = db.prepare(
    `SELECT id - 1 AS id
     FROM plants p
     WHERE owner = ? AND id <= ?
       AND NOT EXISTS (SELECT 1 FROM plants WHERE owner = p.owner AND id = p.id - 1)
     ORDER BY p.id DESC
     LIMIT 1`,
  );
  highestGap.setReadBigInts(true);

  const known = new Map<number, PlantId>();
  /** Above these every id is taken, for owners who have the largest one: where the search goes on. */
  const gaps = new Map<number, PlantId>();

  function highestFree(owner: number): PlantId {
    const id = bigintOf(highestGap.get(owner, gaps.get(owner) ?? MAX_ID)?.id) ?? MAX_ID;
    gaps.set(owner, id);
    return id;
  }

  return {
    nextFree(owner: number): PlantId {
      const last = known.get(owner) ?? bigintOf(highest.get(owner)?.id) ?? 0n;
      known.set(owner, last);
      if (last < 1n) return 1n;
      if (last < MAX_ID) return last + 1n;
      return highestFree(owner);
    },
    /** A plant was added. */
    note(owner: number, id: PlantId): void {
      const last = known.get(owner);
      if (last !== undefined && id > last) known.set(owner, id);
    },
    removed(owner: number): void {
      known.delete(owner);
      gaps.delete(owner);
    },
    /** A transaction that was rolled back took its ids with it. */
    forget(): void {
      known.clear();
    },
  };
}

function bigintOf(value: unknown): bigint | undefined {
  return typeof value === 'bigint' ? value : undefined;
}

/** The queries that read plants. */
export function plantReads(db: DatabaseSync, snapshot: Snapshot) {
  const pages = new Map<string, StatementSync>();

  function statement(fields: readonly PlantField[]): StatementSync {
    const key = fields.join();
    const known = pages.get(key);
    if (known) return known;
    const prepared = db.prepare(pageSql(fields));
    prepared.setReturnArrays(true);
    pages.set(key, prepared);
    return prepared;
  }

  return {
    page({ viewer, from, through, limit, fields }: PageQuery): PlantPage {
      const first = from?.id ?? MIN_ID;
      const last = through?.id ?? MAX_ID;
      // One more than asked for shows whether, and where, the list goes on.
      const row = snapshot.read(() => statement(fields).get(viewer, first, last, limit + 1));
      // `setReturnArrays` makes `get` answer an array; its declared type does not know. An aggregate always
      // has one row.
      const [json, count, highest] = row as unknown as PageRow;
      if (json === null) return { json: '', count: 0, next: undefined };
      if (count <= limit) return { json, count, next: undefined };
      const next = { owner: viewer, id: BigInt(highest) };
      return { json: json.slice(0, json.lastIndexOf(SEPARATOR)), count: limit, next };
    },
    end: listEnd(db, snapshot),
  };
}

function listEnd(db: DatabaseSync, snapshot: Snapshot) {
  const highest = db.prepare('SELECT max(id) AS id FROM plants WHERE owner = ? AND id >= ?');
  highest.setReadBigInts(true);
  const following = db.prepare('SELECT min(id) AS id FROM plants WHERE owner = ? AND id > ?');
  following.setReadBigInts(true);
  const step = db.prepare(
    `SELECT count(*) AS count, max(id) AS id
     FROM (
       SELECT id
       FROM plants
       WHERE owner = ? AND id >= ?
       ORDER BY id
       LIMIT CAST(? AS INTEGER)
     )`,
  );
  step.setReadBigInts(true);
  const idOf = (query: StatementSync, viewer: number, id: PlantId) =>
    snapshot.read(() => bigintOf(query.get(viewer, id)?.id));
  const at = (owner: number, id: PlantId | undefined) => (id === undefined ? undefined : { owner, id });

  return async ({ viewer, from, count }: EndQuery): Promise<ListEnd> => {
    let start = from?.id ?? MIN_ID;
    if (count === undefined) return { last: at(viewer, idOf(highest, viewer, start)), next: undefined };
    let last: PlantId | undefined;
    for (let left = count; left > 0; left -= limits.countedPlants) {
      const wanted = Math.min(left, limits.countedPlants);
      const row = snapshot.read(() => step.get(viewer, start, wanted));
      last = bigintOf(row?.id) ?? last;
      if (last === undefined || last === MAX_ID || Number(row?.count) < wanted) {
        return { last: at(viewer, last), next: undefined };
      }
      start = last + 1n;
      await setImmediate();
    }
    return { last: at(viewer, last), next: at(viewer, idOf(following, viewer, start - 1n)) };
  };
}

/**
 * Between two plants of a page. White space to JSON; within a plant no line break stands, since JSON escapes
 * it, so that the last plant of a page can be told.
 */
const SEPARATOR = ',\n';

/** The last id comes as text: as a number it would lose digits, and BigInt for every column costs more. */
type PageRow = [json: string | null, count: number, last: string];

/**
 * JSON made by SQLite: reading rows and turning them into JSON here takes twice the time. A bare parameter
 * behind LIMIT would make SQLite plan the statement anew for each value that is bound, at twice the cost of
 * running it; hence the CAST.
 */
function pageSql(fields: readonly PlantField[]): string {
  const members = (names: readonly PlantField[]) =>
    names.map((field) => `'${field}', ${MEMBER[field]}`).join(', ');
  const whole = `json_object(${members(fields)})`;
  const withoutTag = `json_object(${members(fields.filter((field) => field !== 'tag'))})`;
  const object = fields.includes('tag')
    ? `CASE WHEN tag IS NULL THEN ${withoutTag} ELSE ${whole} END`
    : whole;
  return `SELECT group_concat(${object}, '${SEPARATOR}'), count(*), CAST(max(id) AS TEXT)
    FROM (
      SELECT owner, id, name, tag
      FROM plants
      WHERE owner = ? AND id BETWEEN ? AND ?
      ORDER BY id
      LIMIT CAST(? AS INTEGER)
    )`;
}

const MEMBER: Record<PlantField, string> = {
  id: 'id',
  name: 'name',
  tag: 'tag',
  owner: '(SELECT name FROM users WHERE users.id = owner)',
};
