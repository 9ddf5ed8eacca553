import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { scopes } from '../../src/access/scopes.ts';
import { hashToken } from '../../src/access/tokens.ts';
import { storePath } from '../../src/config/config.ts';
import { firstId } from '../../src/runtime.ts';
import { startService } from '../servers/service.ts';

/** The plants of a filled store: ids 1, 2, 3, … in order. */
export function filledPlant(id: number): { name: string; tag: string } {
  return { name: `Plant ${id}`, tag: `Species ${id % 630}` };
}

/**
 * The folder of a store with this many plants of `admin` and an event for each, without deliveries. Written by SQL,
 * bypassing the service, a hundred times as fast. Created once: sections that share it only read.
 */
export async function filledStore(folder: string, plants: number): Promise<string> {
  const dataDir = join(folder, `plants-${plants}`);
  if (existsSync(dataDir)) return dataDir;
  mkdirSync(dataDir);
  // The service creates the schema and the user.
  const service = await startService({ dataDir });
  await service.stop();
  addPlants(dataDir, plants);
  return dataDir;
}

/** Fills a store that the service has created and nobody uses. */
export function addPlants(dataDir: string, plants: number): void {
  const db = openStore(dataDir);
  db.exec('BEGIN');
  insertPlants(db, plants);
  db.prepare(
    `INSERT INTO events (owner, id, plant, name, tag, created_at)
     ${NUMBERS}
     SELECT ${OWNER}, ? || format('%016d', id), id, plant_name(id), plant_tag(id), ?
     FROM number`,
  ).run(plants, eventPrefix(), Date.now());
  db.exec('COMMIT');
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
}

/** Adds again what a running service has deleted of such plants, without events, and leaves it no checkpoint to make. */
export function refillPlants(dataDir: string, plants: number): void {
  const db = openStore(dataDir);
  insertPlants(db, plants);
  db.exec('PRAGMA wal_checkpoint');
  db.close();
}

/** With the number of the last as its parameter. */
const NUMBERS = `WITH RECURSIVE number (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM number WHERE id < ?)`;
const OWNER = `(SELECT id FROM users WHERE name = 'admin')`;

/** How long a running service may hold the write lock. */
export const LOCK_WAIT_MS = 10_000;

/** To write to a store that a service may be using. */
export function openStore(dataDir: string): DatabaseSync {
  const db = new DatabaseSync(storePath(dataDir), { timeout: LOCK_WAIT_MS });
  // This data need not survive a power cut.
  db.exec('PRAGMA synchronous = OFF');
  db.exec('PRAGMA cache_size = -262144');
  return db;
}

/** The missing ones of the plants up to this number. */
function insertPlants(db: DatabaseSync, plants: number): void {
  db.function('plant_name', (id) => filledPlant(Number(id)).name);
  db.function('plant_tag', (id) => filledPlant(Number(id)).tag);
  // Versions with this column would be busy filling it.
  const isFolded =
    db.prepare(`SELECT 1 FROM pragma_table_info('plants') WHERE name = 'folded'`).get() !== undefined;
  db.prepare(
    `INSERT OR IGNORE INTO plants (owner, id, name, tag, created_at${isFolded ? ', folded' : ''})
     ${NUMBERS}
     SELECT ${OWNER}, id, plant_name(id), plant_tag(id), 0${isFolded ? ', lower(plant_name(id))' : ''}
     FROM number`,
  ).run(plants);
}

/** Adds users with a token and this many plants each. The token of the first is `userToken(1)`. */
export function addUsers(dataDir: string, users: number, plants: number): void {
  const db = openStore(dataDir);
  db.function('hash_of_user', (id) => hashToken(userToken(Number(id))));
  db.exec('BEGIN');
  db.prepare(
    `INSERT INTO users (id, name, created_at)
     ${NUMBERS}
     SELECT ${FIRST_USER} + id, 'user ' || id, 0
     FROM number`,
  ).run(users);
  db.prepare(
    `INSERT INTO tokens (hash, id, user, label, scopes, bootstrap, created_at)
     ${NUMBERS}
     SELECT hash_of_user(id), 'tok ' || id, ${FIRST_USER} + id, '', ?, 0, 0
     FROM number`,
  ).run(users, scopes.join(' '));
  db.prepare(
    `INSERT INTO plants (owner, id, name, tag, created_at, folded)
     ${NUMBERS}
     SELECT u.id, p.id, 'Plant ' || p.id, 'Species ' || p.id, 0, 'plant ' || p.id
     FROM users u, number p
     WHERE u.id > ${FIRST_USER}
     ORDER BY u.id, p.id`,
  ).run(plants);
  db.exec('COMMIT');
  db.close();
}

/** The ids of such users begin after this. */
const FIRST_USER = 1_000;

/** @param n a number from 1, or the mark of a `Load` for it */
export function userToken(n: number | string): string {
  return `bench-token-of-user-${n}`;
}

/**
 * The part of a current event id before its last 16 digits. With much older events the service would soon be busy
 * removing them.
 */
export function eventPrefix(at = Date.now()): string {
  return firstId('evt', at).slice(0, -RANDOM_DIGITS);
}

/** Of the 26 digits of an id; the others are its time. */
const RANDOM_DIGITS = 16;
