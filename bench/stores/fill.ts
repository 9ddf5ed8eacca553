import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
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
  const db = new DatabaseSync(storePath(dataDir));
  db.exec('PRAGMA synchronous = OFF');
  db.exec('PRAGMA cache_size = -262144');
  db.function('plant_name', (id) => filledPlant(Number(id)).name);
  db.function('plant_tag', (id) => filledPlant(Number(id)).tag);
  db.exec('BEGIN');
  const numbers = `WITH RECURSIVE number (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM number WHERE id < ?)`;
  const owner = `(SELECT id FROM users WHERE name = 'admin')`;
  // Versions with this column would be busy filling it.
  const isFolded =
    db.prepare(`SELECT 1 FROM pragma_table_info('plants') WHERE name = 'folded'`).get() !== undefined;
  db.prepare(
    `INSERT INTO plants (owner, id, name, tag, created_at${isFolded ? ', folded' : ''})
     ${numbers}
     SELECT ${owner}, id, plant_name(id), plant_tag(id), 0${isFolded ? ', lower(plant_name(id))' : ''}
     FROM number`,
  ).run(plants);
  db.prepare(
    `INSERT INTO events (owner, id, plant, name, tag, created_at)
     ${numbers}
     SELECT ${owner}, ? || format('%016d', id), id, plant_name(id), plant_tag(id), ?
     FROM number`,
  ).run(plants, eventPrefix(), Date.now());
  db.exec('COMMIT');
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
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
