import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { storePath } from '../../src/config/config.ts';
import { firstId } from '../../src/runtime.ts';
import { run, withFolder, withStoreFolder } from './program.ts';
import { wordsOf } from './remote.ts';

export function restore(folder: string, file: string, ...more: string[]) {
  return run(['restore', file, '--data-dir', folder, ...more]);
}

/** Gives the work a data folder with five plants, and a backup of it from when it had two. */
export async function withBackup(work: (folder: string, file: string) => Promise<void>): Promise<void> {
  made ??= makeBackup();
  const { store, backup } = await made;
  await withFolder(async (place) => {
    const [folder, file] = [join(place, 'data'), join(place, 'plants.backup')];
    await mkdir(folder);
    await writeFile(storePath(folder), store, { mode: 0o600 });
    await writeFile(file, backup, { mode: 0o600 });
    await work(folder, file);
  });
}

/** The contents of both files, made once for all tests of a file. */
let made: ReturnType<typeof makeBackup> | undefined;

function makeBackup(): Promise<{ store: Buffer; backup: Buffer }> {
  return withStoreFolder(async (folder) => {
    const file = join(folder, 'plants.backup');
    addPlants(folder, 2);
    wordsOf(await run(['backup', file, '--data-dir', folder]));
    addPlants(folder, 3);
    return { store: await readFile(storePath(folder)), backup: await readFile(file) };
  });
}

/** The other files in a data folder, besides the store and the lock. */
export async function leftIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter(
    (name) => !/^(?:plant-store\.db(?:-wal|-shm)?|serving\.lock)$/.test(name),
  );
}

/** Adds this many plants, with events, to the user ann, created if necessary. Uses SQL, which is faster. */
export function addPlants(folder: string, count: number): void {
  const db = new DatabaseSync(storePath(folder));
  const prefix = firstId('evt', Date.now()).slice(0, -16);
  db.exec('BEGIN');
  db.exec(
    `INSERT INTO users (name, created_at) SELECT 'ann', 1 WHERE NOT EXISTS (SELECT 1 FROM users WHERE name = 'ann')`,
  );
  const { id } = db.prepare(`SELECT id FROM users WHERE name = 'ann'`).get() ?? {};
  const { last } =
    db.prepare('SELECT coalesce(max(id), 0) AS last FROM plants WHERE owner = ?').get(Number(id)) ?? {};
  const [first, end] = [Number(last) + 1, Number(last) + count];
  const numbers =
    'WITH RECURSIVE n (id) AS (SELECT CAST(? AS INTEGER) UNION ALL SELECT id + 1 FROM n WHERE id < ?)';
  db.prepare(
    `INSERT INTO plants (owner, id, name, created_at)
     ${numbers} SELECT ?, id, 'Plant ' || id, 1 FROM n`,
  ).run(first, end, Number(id));
  db.prepare(
    `INSERT INTO events (owner, id, plant, name, created_at)
     ${numbers} SELECT ?, ? || format('%016d', id), id, 'Plant ' || id, 1 FROM n`,
  ).run(first, end, Number(id), prefix);
  db.exec('COMMIT');
  db.close();
}

/** A store of the first version, with one plant. */
export function makeFirstVersion(path: string): void {
  const sql = readFileSync(FIRST, 'utf8');
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec(
    'CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT, checksum TEXT, applied_at INTEGER) STRICT',
  );
  db.exec(sql);
  const checksum = createHash('sha256').update(sql).digest('hex');
  db.prepare(`INSERT INTO migrations VALUES (1, '0001_initial.sql', ?, 1)`).run(checksum);
  db.exec(`INSERT INTO users VALUES (1, 'ann', 1)`);
  db.exec(`INSERT INTO plants VALUES (1, 7, 'Alder', NULL, 1)`);
  db.exec(`INSERT INTO events VALUES (1, '${firstId('evt', Date.now())}', 7, 'Alder', NULL, 1)`);
  db.close();
}

const FIRST = new URL('../../src/store/sqlite/migrations/0001_initial.sql', import.meta.url);

/** How many plants an SQLite file has, opened like on a start. Throws when it is damaged. */
export function plantsIn(path: string): number {
  const db = new DatabaseSync(path);
  try {
    const [found] = db.prepare('PRAGMA integrity_check').all();
    if (found?.integrity_check !== 'ok') throw new Error(String(found?.integrity_check));
    return Number(db.prepare('SELECT count(*) AS count FROM plants').get()?.count);
  } finally {
    db.close();
  }
}
