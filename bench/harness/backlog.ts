import { DatabaseSync } from 'node:sqlite';
import { storePath } from '../../src/config.ts';
import { eventPrefix, filledPlant } from './fill.ts';

/** Deliveries written by SQL past the service, which may run meanwhile, as the command line does. */

/** How long the running service may hold the write lock. */
const LOCK_WAIT_MS = 10_000;
/** One transaction: the running service writes in between. */
const CHUNK = 20_000;

/** Events of this run of the bench, so that each has an id of its own in every store. */
let events = 0;

/**
 * Makes so many events of `admin`, each with a delivery for each of their webhooks that is due since its event was
 * made.
 */
export function addBacklog(dataDir: string, count: number): void {
  const db = openStore(dataDir);
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
  db.close();
}

/** Adds webhooks of `admin` until there are so many: copies of the one that is there. */
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

/** Disables every webhook, or enables it: with a backlog that waits, the running service then begins to send it. */
export function setEnabled(dataDir: string, isEnabled: boolean): void {
  const db = openStore(dataDir);
  db.exec(`UPDATE webhooks SET status = '${isEnabled ? 'enabled' : 'disabled'}'`);
  db.close();
}

/** How many deliveries of a store are in a state. */
export function countDeliveries(dataDir: string, state: 'pending' | 'delivered' | 'failed'): number {
  const db = new DatabaseSync(storePath(dataDir), { readOnly: true, timeout: LOCK_WAIT_MS });
  // As a literal, so that the index of what is pending serves.
  const row = db.prepare(`SELECT count(*) AS count FROM deliveries WHERE state = '${state}'`).get();
  db.close();
  return Number(row?.count);
}

const ADMIN = `(SELECT id FROM users WHERE name = 'admin')`;

function openStore(dataDir: string): DatabaseSync {
  const db = new DatabaseSync(storePath(dataDir), { timeout: LOCK_WAIT_MS });
  // Nothing here must survive a power cut.
  db.exec('PRAGMA synchronous = OFF');
  db.exec('PRAGMA cache_size = -262144');
  return db;
}

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
  db.prepare(
    `INSERT INTO deliveries (webhook, event, owner, state, attempts, step, due, generation)
     SELECT w.id, e.id, e.owner, 'pending', 0, 0, e.created_at, 0
     FROM webhooks w
     JOIN events e ON e.owner = w.owner AND e.id BETWEEN ? AND ?
     WHERE w.owner = ${ADMIN}
     ORDER BY w.id, e.id`,
  ).run(first, last);
}

function idOf(prefix: string, number: number): string {
  return prefix + String(number).padStart(16, '0');
}
