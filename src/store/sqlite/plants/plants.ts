import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import type { PlantId } from '../../../plants/plant.ts';
import type { NewPlant, PageQuery, PlantField, PlantPage, Position } from '../../../plants/port.ts';
import type { Trace } from '../../../tracing/port.ts';
import { type EndReads, listEnd } from '../../list-end.ts';
import type { Created } from '../../once.ts';
import type { Stretch } from '../../visible-owners.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import { prepare } from '../engine/prepare.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { plantCounts } from './plant-counts.ts';
import { assignedIds, BIGINTS, bigintOf } from './plant-ids.ts';

export function plantWrites(
  db: DatabaseSync,
  announce: (plant: NewPlant & { id: PlantId }) => void,
  most: number | undefined,
) {
  const insert = prepare(db)`INSERT INTO plants (owner, id, name, tag, created_at)
    VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`;
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
    ): Created {
      if (counts?.isFull(owner)) {
        // A client that repeats a create learns that it succeeded.
        return wanted !== undefined && exists.get(owner, wanted) ? null : 'full';
      }
      let id = wanted ?? ids.next(owner);
      while (id !== undefined && insert.run(owner, id, name, tag ?? null, at).changes === 0) {
        if (wanted !== undefined) return null;
        id = ids.next(owner, id);
      }
      if (id === undefined) return 'spent';
      counts?.added(owner);
      announce({ owner, id, name, tag, event, at, trace });
      return id;
    },
    delete(owner: number, id: PlantId): boolean {
      if (remove.run(owner, id).changes === 0) return false;
      counts?.removed(owner);
      return true;
    },
    /** Call it at the start of a transaction. */
    forgetIds: ids.forget,
    /** Call it at the end of a transaction. */
    writeIds: ids.write,
    /** Call it after a rollback. */
    forgetCounts: () => counts?.forget(),
  };
}

export function plantReads(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const pages = new Map<string, StatementSync>();

  function statement(fields: readonly PlantField[]): StatementSync {
    const key = fields.join();
    const known = pages.get(key);
    if (known) return known;
    const prepared = db.prepare(pageSql(fields), { returnArrays: true });
    pages.set(key, prepared);
    return prepared;
  }

  function page(query: PageQuery): PlantPage {
    const { viewer, limit, fields } = query;
    const parts: string[] = [];
    let left = limit;
    for (const { owner, first, last } of visible.stretches(viewer, query)) {
      // One more than requested shows whether, and where, the list continues.
      const row = statement(fields).get(owner, first, last, left + 1);
      // `returnArrays` makes `get` return an array, which its declared type omits. An aggregate always has one row.
      const [json, count, highest] = row as unknown as PageRow;
      if (json === null) continue;
      if (count > left) {
        if (left > 0) parts.push(json.slice(0, json.lastIndexOf(SEPARATOR)));
        return { json: parts.join(SEPARATOR), count: limit, next: { owner, id: BigInt(highest) } };
      }
      parts.push(json);
      left -= count;
    }
    return { json: parts.join(SEPARATOR), count: limit - left, next: undefined };
  }

  return {
    page: (query: PageQuery): PlantPage => snapshot.read(() => page(query)),
    end: listEnd(endReads(db, snapshot, visible)),
  };
}

function endReads(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners): EndReads {
  const range = 'FROM plants WHERE owner = ? AND id BETWEEN ? AND ?';
  const highest = db.prepare(`SELECT max(id) AS id ${range}`, BIGINTS);
  const lowest = db.prepare(`SELECT min(id) AS id ${range}`, BIGINTS);
  const counted = db.prepare(
    `SELECT count(*) AS count, max(id) AS id
     FROM (SELECT id ${range} ORDER BY id LIMIT CAST(? AS INTEGER))`,
    BIGINTS,
  );

  /** The first position that the statement finds in the stretches. */
  const find = (statement: StatementSync, stretches: readonly Stretch[]): Position | undefined =>
    snapshot.read(() => {
      for (const { owner, first, last } of stretches) {
        const id = bigintOf(statement.get(owner, first, last)?.id);
        if (id !== undefined) return { owner, id };
      }
      return undefined;
    });

  return {
    stretches: visible.stretches,
    lastOfEach: (stretches) => stretches.flatMap((stretch) => find(highest, [stretch]) ?? []),
    last: (stretches) => find(highest, stretches.toReversed()),
    first: (stretches) => find(lowest, stretches),
    count({ owner, first, last }, most) {
      const { id, count } = snapshot.read(() => counted.get(owner, first, last, most)) ?? {};
      const end = bigintOf(id);
      return end === undefined ? undefined : { count: Number(count), last: { owner, id: end } };
    },
    pause: setImmediate,
  };
}

/** White space to JSON. Within a plant JSON escapes line breaks, so the last separator precedes the last plant. */
const SEPARATOR = ',\n';

/** The last id is text: a number would lose digits, and BigInt for every column costs more. */
type PageRow = [json: string | null, count: number, last: string];

/**
 * JSON built by SQLite, with the members of `plantJson`: converting rows here takes twice as long. Without the CAST,
 * SQLite would plan the statement anew for each bound limit, at twice the cost of running it.
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
