import assert from 'node:assert/strict';
import { cp, readFile, stat, writeFile } from 'node:fs/promises';
import { after, type TestContext } from 'node:test';
import { storePath } from '../../src/config/config.ts';
import { makePlace, type Place } from './place.ts';

/** A place of the test's own with the data folder, and what its maker returned. */
export type LeftBehind<T> = (t: TestContext) => Promise<{ place: Place; made: T }>;

/**
 * A data folder that services left behind, made for the first test and copied for each: starting a service takes half
 * a second of CPU. Call it while a test file loads, and its `make` must end every server.
 */
export async function leftBehind<T>(make: (place: Place) => Promise<T>): Promise<LeftBehind<T>> {
  const original = await makePlace({ after });
  let making: Promise<T> | undefined;
  return async (t) => {
    making ??= make(original);
    const made = await making;
    const place = await makePlace(t);
    await cp(original.dataDir, place.dataDir, { recursive: true });
    await renameFiles(storePath(original.dataDir), storePath(place.dataDir));
    return { place, made };
  };
}

/**
 * A server that was killed leaves a record of its files by inode, and of when its database was changed. Puts those of
 * the copies there: a start would take them for files of other programs.
 */
async function renameFiles(original: string, copy: string): Promise<void> {
  const text = await readFile(`${original}-sizes`, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const record = JSON.parse(text);
  assert.deepEqual(record, await withMarksOf(original, record));
  await writeFile(`${copy}-sizes`, JSON.stringify(await withMarksOf(copy, record)).padEnd(text.length));
}

async function withMarksOf(path: string, { database, log }: Record<'database' | 'log', object>) {
  const [found, foundLog] = await Promise.all(
    [path, `${path}-wal`].map((file) => stat(file, { bigint: true })),
  );
  return {
    database: { ...database, ino: String(found?.ino), changedAt: String(found?.mtimeNs) },
    log: { ...log, ino: String(foundLog?.ino) },
  };
}
