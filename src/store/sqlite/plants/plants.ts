import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { foldName, type PlantId } from '../../../plants/plant.ts';
import type { CreateOutcome, PageQuery, PlantField, PlantPage } from '../../../plants/port.ts';
import type { Trace } from '../../../tracing/port.ts';
import { type EndReads, listEnds } from '../../list-end.ts';
import {
  eachKind,
  kindOf,
  type OrderKind,
  type PagePart,
  pageOf,
  plantsOf,
  positionOf,
  SEPARATOR,
} from '../../plant-orders.ts';
import type { Stretch } from '../../visible-owners.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import type { OutboxWrites } from '../deliveries/outbox.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { assignedIds, BIGINTS } from './plant-ids.ts';
import type { VersionWrites } from './versions.ts';

export function plantWrites(
  db: DatabaseSync,
  { announce, touch }: Pick<OutboxWrites, 'announce'> & Pick<VersionWrites, 'touch'>,
  most: number | undefined,
) {
  const insert = db.prepare(`INSERT INTO plants (owner, id, name, folded, tag, created_at)
    VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`);
  const remove = db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?');
  const exists = db.prepare('SELECT 1 FROM plants WHERE owner = ? AND id = ?');
  const ids = assignedIds(db);
  const counts = most === undefined ? undefined : plantCounts(db, most);

  return {
    /** Positional, because objects are slow to pass to a thread. */
    create(
      owner: number,
      wanted: PlantId | undefined,
      name: string,
      tag: string | undefined,
      event: string,
      at: number,
      trace?: Trace,
    ): CreateOutcome {
      if (most !== undefined && counts?.isFull(owner)) {
        // A client that repeats a create learns that it succeeded.
        return wanted !== undefined && exists.get(owner, wanted) ? 'taken' : { full: most };
      }
      const folded = foldName(name);
      let id = wanted ?? ids.next(owner);
      while (id !== undefined && insert.run(owner, id, name, folded, tag ?? null, at).changes === 0) {
        if (wanted !== undefined) return 'taken';
        id = ids.next(owner, id);
      }
      if (id === undefined) return 'spent';
      touch(owner);
      counts?.added(owner);
      announce({ owner, id, name, tag, event, at, trace });
      return id;
    },
    delete(owner: number, id: PlantId): boolean {
      if (remove.run(owner, id).changes === 0) return false;
      touch(owner);
      counts?.removed(owner);
      return true;
    },
    ids,
    counts,
  };
}

export function plantReads(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const pages = new Map<string, StatementSync>();
  const unfolded = db.prepare(`SELECT 1
    FROM plants INDEXED BY plants_unfolded
    WHERE owner IN (SELECT value FROM json_each(?)) AND folded IS NULL
    LIMIT 1`);

  const statement = (kind: OrderKind, fields: readonly PlantField[]) =>
    pages.getOrInsertComputed(`${kind} ${fields.join()}`, () =>
      db.prepare(pageSql(kind, fields), { returnArrays: true }),
    );

  function page(query: PageQuery): PlantPage {
    const { viewer, order, limit, fields } = query;
    const prepared = statement(kindOf(order), fields);
    const parts: PagePart[] = [];
    let wanted = limit + 1;
    for (const stretch of visible.stretches(viewer, query)) {
      const row = prepared.get(...valuesOf(stretch), wanted);
      // `returnArrays` makes `get` return an array, which its declared type omits. An aggregate always has one row.
      const [json, count, id, folded] = row as unknown as PageRow;
      if (json === null) continue;
      parts.push({ json, count, last: positionOf(stretch.owner, { id, folded }) });
      wanted -= count;
      if (wanted === 0) break;
    }
    return pageOf(parts, limit);
  }

  return {
    page: async (query: PageQuery) => snapshot.read(() => page(query)),
    hasNames: async (viewer: number) =>
      snapshot.read(() => unfolded.get(JSON.stringify(visible.of(viewer))) === undefined),
    ...listEnds(endReads(db, snapshot, visible)),
  };
}

/** Without statistics SQLite would take the primary key for a list by name, and sort. */
const BY_NAME = 'plants INDEXED BY plants_by_name';
const PLANTS = { id: 'plants', descending: 'plants', name: BY_NAME, nameDescending: BY_NAME } as const;

const STRETCH = { owner: '?', first: '?', last: '?', firstName: '?', lastName: '?', most: '?' } as const;

/**
 * Its last parameter is the limit. Without the CAST, SQLite would plan the statement anew for each bound limit, at twice
 * the cost of running it.
 */
function plantsIn(kind: OrderKind, columns: string): string {
  return plantsOf(kind, { columns, table: PLANTS[kind], stretch: STRETCH, limit: 'CAST(? AS INTEGER)' });
}

/** In the order of the parameters of `plantsIn`. */
function valuesOf({ owner, first, last, names }: Stretch): (PlantId | string | number)[] {
  return names ? [owner, names.first, first, names.last, last, names.most] : [owner, first, last];
}

/** The position of the last row. The id is text: a number would lose digits, and BigInt for every column costs more. */
const LAST = {
  id: 'CAST(max(id) AS TEXT) AS id, NULL AS folded',
  descending: 'CAST(min(id) AS TEXT) AS id, NULL AS folded',
  name: `CAST(json_group_array(id) ->> '$[#-1]' AS TEXT) AS id, max(folded) AS folded`,
  nameDescending: `CAST(json_group_array(id) ->> '$[#-1]' AS TEXT) AS id, min(folded) AS folded`,
} as const;

function endReads(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners): EndReads {
  const statements = eachKind((kind) =>
    db.prepare(`SELECT count(*) AS count, ${LAST[kind]} FROM (${plantsIn(kind, 'id')})`),
  );

  return {
    stretches: visible.stretches,
    *count(stretches, kind, most) {
      for (const stretch of stretches) {
        const row = snapshot.read(() => statements[kind].get(...valuesOf(stretch), most));
        if (row?.count) yield { count: Number(row.count), last: positionOf(stretch.owner, row) };
      }
    },
    pause: setImmediate,
  };
}

type PageRow = [json: string | null, count: number, id: string, folded: string | null];

/** JSON built by SQLite, with the members of `plantJson`: converting rows here takes twice as long. */
function pageSql(kind: OrderKind, fields: readonly PlantField[]): string {
  const members = (names: readonly PlantField[]) =>
    names.map((field) => `'${field}', ${MEMBER[field]}`).join(', ');
  const whole = `json_object(${members(fields)})`;
  const withoutTag = `json_object(${members(fields.filter((field) => field !== 'tag'))})`;
  const object = fields.includes('tag')
    ? `CASE WHEN tag IS NULL THEN ${withoutTag} ELSE ${whole} END`
    : whole;
  return `SELECT group_concat(${object}, '${SEPARATOR}'), count(*), ${LAST[kind]}
    FROM (${plantsIn(kind, 'owner, id, name, tag')})`;
}

const MEMBER: Record<PlantField, string> = {
  id: 'id',
  name: 'name',
  tag: 'tag',
  owner: '(SELECT name FROM users WHERE users.id = owner)',
};

export const ANY_UNFOLDED = 'SELECT 1 FROM plants INDEXED BY plants_unfolded WHERE folded IS NULL';

/** Fills some of the folded names that are missing from plants of an older version. */
export function nameFolding(db: DatabaseSync): (limit: number) => void {
  const lacking = db.prepare(
    `SELECT owner, id, name
     FROM plants INDEXED BY plants_unfolded
     WHERE folded IS NULL
     ORDER BY owner, id
     LIMIT CAST(? AS INTEGER)`,
    BIGINTS,
  );
  const fill = db.prepare('UPDATE plants SET folded = ? WHERE owner = ? AND id = ?');
  return (limit) => {
    for (const { owner, id, name } of lacking.all(limit)) {
      fill.run(foldName(String(name)), owner ?? null, id ?? null);
    }
  };
}

/** Counts an owner's plants up to the limit, once; then keeps the count, since only this connection adds plants. */
function plantCounts(db: DatabaseSync, most: number) {
  const count = db.prepare(`SELECT count(*) AS count
    FROM (SELECT 1 FROM plants WHERE owner = ? LIMIT CAST(? AS INTEGER))`);
  const known = new Map<number, number>();
  const countOf = (owner: number) => Number(count.get(owner, most + 1)?.count);
  return {
    isFull: (owner: number) => known.getOrInsertComputed(owner, countOf) >= most,
    added(owner: number): void {
      const counted = known.get(owner);
      if (counted !== undefined) known.set(owner, counted + 1);
    },
    removed(owner: number): void {
      const counted = known.get(owner);
      if (counted === undefined) return;
      // Beyond the limit the exact count is unknown.
      if (counted > most) known.delete(owner);
      else known.set(owner, counted - 1);
    },
    /** Call it after a rollback. */
    forget: () => known.clear(),
  };
}
