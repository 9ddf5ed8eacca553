import type { DatabaseSync } from 'node:sqlite';
import { firstId } from '../../../runtime.ts';
import { hasColumn, type Schema, schemaOf } from '../engine/migrate.ts';

/** What a store contains, to help decide what to do with it. */
export type Contents = {
  plants: number;
  /** Pending deliveries. */
  waiting: number;
};

/**
 * The schema of a store, even of a damaged one.
 * @throws Error, with a sentence for a message, for a foreign database or an unknown schema
 */
export function storeSchema(db: DatabaseSync): Schema {
  const schema = schemaOf(db);
  if (schema === undefined || !hasColumn(db, 'meta', 'value'))
    throw new Error('It is a database, but not a plant store.');
  return schema;
}

/**
 * The problems of a store, a sentence each. Reads everything: pages and their order, all indexes, references, and rules
 * that no constraint enforces.
 * @throws Error as `storeSchema` does
 */
export function verifyStore(db: DatabaseSync): string[] {
  const { applied, known } = storeSchema(db);
  const damage = db.prepare('PRAGMA integrity_check(10)').all();
  const found = damage.map(({ integrity_check: text }) => String(text)).filter((text) => text !== 'ok');
  // Checks on damaged pages add no information.
  if (found.length > 0) return found;
  const [dangling] = db.prepare('PRAGMA foreign_key_check').all();
  if (dangling) found.push(`A row of ${dangling.table} refers to a missing row of ${dangling.parent}.`);
  // An older schema lacks some of the columns: the first backup after its migration checks the rules.
  if (applied === known) found.push(...brokenRules(db));
  return found;
}

export function contentsOf(db: DatabaseSync): Contents {
  return {
    plants: countIn(db, 'SELECT count(*) AS count FROM plants'),
    waiting: countIn(db, `SELECT count(*) AS count FROM deliveries WHERE state = 'pending'`),
  };
}

/** The messages for rules that every transaction keeps but no constraint enforces. */
function brokenRules(db: DatabaseSync): string[] {
  const lacking = { deliveries: countIn(db, DELIVERIES_WITHOUT_EVENT), plants: plantsWithoutEvent(db) };
  return Object.entries(lacking).flatMap(([what, count]) =>
    count === 0 ? [] : `${count} ${what} have no event.`,
  );
}

/** Removal works in slices and may delete an event before or after its deliveries. */
const DELIVERIES_WITHOUT_EVENT = `SELECT count(*) AS count
  FROM deliveries d
  JOIN webhooks w ON w.id = d.webhook AND w.status <> 'deleted'
  JOIN users u ON u.id = d.owner AND u.deleted_at IS NULL
  LEFT JOIN events e ON e.owner = d.owner AND e.id = d.event
  WHERE e.id IS NULL
    AND NOT EXISTS (SELECT 1 FROM withdrawals WHERE webhook = d.webhook AND owner = d.owner)`;

/**
 * Each plant has an event until the retention, oldest first, or the removal of its owner, in slices, removes it. SQLite
 * reads both in the order of their keys and merges them: looking up the event of each plant takes twice as long.
 */
function plantsWithoutEvent(db: DatabaseSync): number {
  db.function('first_id', { deterministic: true }, (at) => firstId('evt', Number(at)));
  return countIn(
    db,
    `SELECT count(*) AS count
     FROM (
       SELECT p.owner, p.id
       FROM plants p
       JOIN users u ON u.id = p.owner AND u.deleted_at IS NULL
       LEFT JOIN removed_events r ON r.owner = p.owner
       WHERE r.event IS NULL OR first_id(p.created_at) > r.event
       EXCEPT
       SELECT owner, plant
       FROM events
       WHERE type = 'plant.created'
     )`,
  );
}

function countIn(db: DatabaseSync, sql: string): number {
  return Number(db.prepare(sql).get()?.count);
}
