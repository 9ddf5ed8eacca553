import { fsyncSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { writes } from '../../../limits.ts';
import { openConnection, refuseLostDatabase } from '../engine/connection.ts';
import { hasSizeRecord, refuseCutStore } from '../engine/size-record.ts';
import { fileSize, flushFolder, openFile } from './durable-files.ts';

/**
 * Prepares a store for writing that a server may have left uncleanly. Call it under the server lock, before this
 * process opens the store. Returns whether the last server stopped uncleanly; only the next server forgets that.
 * @throws Error when a part of the store is missing; errors of `makeLogDurable`
 */
export function recoverStore(path: string): boolean {
  const wasKilled = hasSizeRecord(path);
  refuseLostDatabase(path);
  refuseCutStore(path);
  if (fileSize(`${path}-wal`) > 0) hearOfLostFlush(path);
  makeLogDurable(path);
  return wasKilled;
}

/**
 * The kernel reports a failed write to the next flush of a newly opened file, which would be the first checkpoint and
 * end the service again. This takes the report: the log still has the data and is copied again.
 */
function hearOfLostFlush(path: string): void {
  using file = openFile(path, 'r+');
  try {
    fsyncSync(file.fd);
  } catch {
    // See above.
  }
}

/**
 * Makes sure that the write-ahead log of an earlier process is on disk. After a failed flush the kernel considers the
 * unwritten pages clean: readers see them, but no later flush writes them, and a power cut loses them and every later
 * commit. Writing them again makes them dirty.
 *
 * Call it under the server lock, before anything is written. Others may continue to read; SQLite's write lock stops
 * writers.
 * @throws errors of SQLite; errors of the file system with the log's path. The log is unchanged then.
 */
export function makeLogDurable(path: string): void {
  const log = `${path}-wal`;
  if (fileSize(log) === 0) return;
  // Closed last: while it is open, closing the writer does not copy the log into the database, which must not happen
  // before the log is on disk. Nor does closing this one, since it is read-only.
  using reader = openConnection(path, { readOnly: true });
  reader.prepare('SELECT count(*) FROM sqlite_schema').get();
  using writer = openConnection(path);
  writer.exec('BEGIN IMMEDIATE');
  rewrite(log);
}

/** No byte changes, so an interruption is harmless. */
function rewrite(path: string): void {
  using file = openFile(path, 'r+');
  try {
    const bytes = Buffer.allocUnsafe(writes.rewrittenBytes);
    for (let at = 0; ; ) {
      const read = readSync(file.fd, bytes, 0, bytes.length, at);
      if (read === 0) break;
      at += writeSync(file.fd, bytes, 0, read, at);
    }
    fsyncSync(file.fd);
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { path }) : error;
  }
  flushFolder(dirname(path));
}
