import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { MAX_ID, MIN_ID, type PlantId } from '../../plants/plant.ts';
import type {
  CreateOutcome,
  EndQuery,
  ListEnd,
  NewPlant,
  PageQuery,
  PlantField,
  PlantPage,
  Position,
} from '../../plants/port.ts';
import type { Snapshot } from './snapshot.ts';

/** The statements that write plants, for the connection that writes. */
export function plantWrites(db: DatabaseSync, announce: (plant: NewPlant, id: PlantId) => void) {
  const insert = db.prepare(
    `INSERT INTO plants (owner, id, name, tag, created_at)
     VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  );
  const remove = db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?');
  const nextFree = nextFreeId(db);

  return {
    create(plant: NewPlant): CreateOutcome {
      const id = plant.id ?? nextFree(plant.owner);
      const { changes } = insert.run(plant.owner, id, plant.name, plant.tag ?? null, plant.at);
      if (changes === 0) return { taken: id };
      announce(plant, id);
      return { created: id };
    },
    delete(owner: number, id: PlantId): boolean {
      return remove.run(owner, id).changes > 0;
    },
  };
}

function nextFreeId(db: DatabaseSync): (owner: number) => PlantId {
  const highest = db.prepare('SELECT max(id) AS id FROM plants WHERE owner = ?');
  highest.setReadBigInts(true);
  const highestGap = db.prepare(
    `SELECT id - 1 AS id
     FROM plants p
     WHERE owner = ?
       AND NOT EXISTS (SELECT 1 FROM plants WHERE owner = p.owner AND id = p.id - 1)
     ORDER BY p.id DESC
     LIMIT 1`,
  );
  highestGap.setReadBigInts(true);

  return (owner) => {
    const last = bigintOf(highest.get(owner)?.id);
    if (last === undefined || last < 1n) return 1n;
    if (last < MAX_ID) return last + 1n;
    return bigintOf(highestGap.get(owner)?.id) ?? MAX_ID;
  };
}

function bigintOf(value: unknown): bigint | undefined {
  return typeof value === 'bigint' ? value : undefined;
}

/** The queries that read plants. */
export function plantReads(db: DatabaseSync, snapshot: Snapshot) {
  const pages = new Map<string, StatementSync>();
  const follows = db.prepare('SELECT 1 FROM plants WHERE owner = ? AND id > ? AND id <= ? LIMIT 1');

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
    page({ viewer, after, through, limit, fields }: PageQuery): PlantPage {
      if (after?.id === MAX_ID) return { json: '', count: 0, next: undefined };
      const first = firstBehind(after);
      const last = through?.id ?? MAX_ID;
      return snapshot.read(() => {
        // `setReturnArrays` makes `get` answer an array; its declared type does not know. An aggregate
        // always has one row.
        const row = statement(fields).get(viewer, first, last, limit) as unknown as PageRow;
        const [json, count, highest] = row;
        if (json === null || highest === null) return { json: '', count: 0, next: undefined };
        const id = BigInt(highest);
        const more = count === limit && follows.get(viewer, id, last) !== undefined;
        return { json, count, next: more ? { owner: viewer, id } : undefined };
      });
    },
    end: listEnd(db, snapshot, follows),
  };
}

/** Ids that are counted in one turn of the event loop: about a millisecond. */
const COUNTED_AT_A_TIME = 20_000;

function listEnd(db: DatabaseSync, snapshot: Snapshot, follows: StatementSync) {
  const highest = db.prepare('SELECT max(id) AS id FROM plants WHERE owner = ?');
  highest.setReadBigInts(true);
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

  return async ({ viewer, after, count }: EndQuery): Promise<ListEnd> => {
    if (count === undefined) {
      const id = snapshot.read(() => bigintOf(highest.get(viewer)?.id));
      const behind = id !== undefined && (after === undefined || id > after.id);
      return { last: behind ? { owner: viewer, id } : undefined, more: false };
    }
    let last: Position | undefined;
    let left = count;
    while (left > 0 && last?.id !== MAX_ID) {
      const wanted = Math.min(left, COUNTED_AT_A_TIME);
      const row = snapshot.read(() => step.get(viewer, firstBehind(last ?? after), wanted));
      const id = bigintOf(row?.id);
      if (id !== undefined) last = { owner: viewer, id };
      if (Number(row?.count) < wanted) return { last, more: false };
      left -= wanted;
      await setImmediate();
    }
    const more =
      last !== undefined && snapshot.read(() => follows.get(viewer, last.id, MAX_ID) !== undefined);
    return { last, more };
  };
}

/** The id at which a list begins. No position is behind the largest id: `after` must be smaller. */
function firstBehind(after: Position | undefined): PlantId {
  return after ? after.id + 1n : MIN_ID;
}

/** The last id comes as text: as a number it would lose digits, and BigInt for every column costs more. */
type PageRow = [json: string | null, count: number, last: string | null];

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
  return `SELECT group_concat(${object}), count(*), CAST(max(id) AS TEXT)
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
