import { DatabaseSync } from 'node:sqlite';
import { storePath } from '../../src/config/config.ts';
import { eventPrefix, filledPlant, LOCK_WAIT_MS, openStore } from './fill.ts';

/** Deliveries written by SQL, bypassing the service, which may run meanwhile, as the command line does. */

/** One transaction: the running service writes in between. */
const CHUNK = 20_000;

/** Events of this run, so that each has a unique id in every store. */
let events = 0;

/**
 * Creates this many events of `admin`, each with a due delivery for each of their webhooks. The webhooks are disabled
 * meanwhile, so that nothing is sent before everything exists.
 */
export function addBacklog(dataDir: string, count: number): void {
  const db = openStore(dataDir);
  const enabled = `owner = ${ADMIN} AND status = 'enabled'`;
  const paused = db
    .prepare(`SELECT id FROM webhooks WHERE ${enabled}`)
    .all()
    .map(({ id }) => String(id));
  db.exec(`UPDATE webhooks SET status = 'disabled' WHERE ${enabled}`);
  db.function('plant_name', (id) => filledPlant(Number(id)).name);
  db.function('plant_tag', (id) => filledPlant(Number(id)).tag);
  const prefix = eventPrefix();
  const at = Date.now();
  for (let left = count; left > 0; left -= CHUNK) {
    const [first, last] = [events + 1, events + Math.min(left, CHUNK)];
    db.exec('BEGIN IMMEDIATE');
    insertEvents(db, { prefix, at, first, last });
    insertDeliveries(db, idOf(prefix, first), idOf(prefix, last));
    db.exec('COMMIT');
    events = last;
  }
  // Versions with this column look there for what is due.
  const hasNextDue = columnsOf(db, 'webhooks').some(({ name }) => name === 'next_due');
  const enable = db.prepare(`UPDATE webhooks SET status = 'enabled' WHERE id = ?`);
  db.exec('BEGIN IMMEDIATE');
  if (hasNextDue) db.exec(`UPDATE webhooks SET next_due = ${at} WHERE owner = ${ADMIN}`);
  for (const id of paused) enable.run(id);
  db.exec('COMMIT');
  db.close();
}

/** Adds webhooks of `admin` up to this number, as copies of the existing one. */
export function multiplyWebhook(dataDir: string, count: number): void {
  const db = openStore(dataDir);
  const numbers = `WITH RECURSIVE number (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < ${count})`;
  db.exec('BEGIN IMMEDIATE');
  db.exec(
    `INSERT INTO webhooks (owner, id, url, status, private_key, public_key, created_at)
     ${numbers}
     SELECT owner, format('wh_%026d', n), url, status, private_key, public_key, created_at
     FROM number, (SELECT * FROM webhooks WHERE owner = ${ADMIN})`,
  );
  db.exec(
    `INSERT INTO webhook_secrets (webhook, created_at, secret)
     ${numbers}
     SELECT format('wh_%026d', n), created_at, secret
     FROM number, (SELECT * FROM webhook_secrets)`,
  );
  db.exec('COMMIT');
  db.close();
}

/** How many deliveries of a store are in a state. */
export function countDeliveries(dataDir: string, state: 'pending' | 'delivered' | 'failed'): number {
  const db = new DatabaseSync(storePath(dataDir), { readOnly: true, timeout: LOCK_WAIT_MS });
  // A literal, so that the index of pending deliveries applies.
  const row = db.prepare(`SELECT count(*) AS count FROM deliveries WHERE state = '${state}'`).get();
  db.close();
  return Number(row?.count);
}

/** A column of a table; `isOpen` when a row needs a value for it. */
type Column = { name: string; isOpen: boolean };

const GIVEN = ['webhook', 'event', 'owner', 'state', 'due'];

/** Other columns of a delivery, in other versions of the store, start at 0. */
function startOf(columns: Column[]): { names: string; values: string } {
  const open = columns.filter(({ name, isOpen }) => isOpen && !GIVEN.includes(name));
  return { names: open.map(({ name }) => name).join(', '), values: open.map(() => '0').join(', ') };
}

function columnsOf(db: DatabaseSync, table: string): Column[] {
  return db
    .prepare(`SELECT name, "notnull" = 1 AND dflt_value IS NULL AS open FROM pragma_table_info(?)`)
    .all(table)
    .map(({ name, open }) => ({ name: String(name), isOpen: open === 1 }));
}

const ADMIN = `(SELECT id FROM users WHERE name = 'admin')`;

type Events = { prefix: string; at: number; first: number; last: number };

function insertEvents(db: DatabaseSync, { prefix, at, first, last }: Events): void {
  db.prepare(
    `INSERT INTO events (owner, id, plant, name, tag, created_at, type)
     WITH RECURSIVE number (id) AS (SELECT ? UNION ALL SELECT id + 1 FROM number WHERE id < ?)
     SELECT ${ADMIN}, ? || format('%016d', id), id, plant_name(id), plant_tag(id), ?, 'plant.created'
     FROM number`,
  ).run(first, last, prefix, at);
}

function insertDeliveries(db: DatabaseSync, first: string, last: string): void {
  const { names, values } = startOf(columnsOf(db, 'deliveries'));
  db.prepare(
    `INSERT INTO deliveries (webhook, event, owner, state, due, ${names})
     SELECT w.id, e.id, e.owner, 'pending', e.created_at, ${values}
     FROM webhooks w
     JOIN events e ON e.owner = w.owner AND e.id BETWEEN ? AND ?
     WHERE w.owner = ${ADMIN}
     ORDER BY w.id, e.id`,
  ).run(first, last);
}

function idOf(prefix: string, number: number): string {
  return prefix + String(number).padStart(16, '0');
}
