import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { writes } from '../../../limits.ts';
import { openConnection, refuseLostDatabase } from '../engine/connection.ts';
import { hasSizeRecord, refuseCutStore, removeSizeRecord } from '../engine/size-record.ts';
import { flushFolder } from './durable-files.ts';
import { fileSize } from './file-size.ts';

/**
 * What has to come before anything is written to a store, which a server may have left without a clean stop. To be called
 * under the lock of servers, before this process opens the store.
 *
 * @throws Error when a part of the store is gone; what `makeLogDurable` throws
 */
export function recoverStore(path: string): boolean {
  const wasKilled = hasSizeRecord(path);
  refuseLostDatabase(path);
  refuseCutStore(path);
  if (fileSize(`${path}-wal`) > 0) hearOfLostFlush(path);
  makeLogDurable(path);
  removeSizeRecord(path);
  return wasKilled;
}

/**
 * Takes the kernel's report of a write to the database that failed after the last flush of the process before. It goes to
 * the first flush of whoever opens the file next, which would be that of the first checkpoint, and end the service once
 * more. What failed is in the log still, and is copied again; a disk that fails again says so then.
 */
function hearOfLostFlush(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } catch {
    // See above.
  } finally {
    closeSync(file);
  }
}

/**
 * Makes sure that the write-ahead log that a store was left with is on disk. After a flush failed, the kernel takes the
 * pages that it could not write for clean: whoever reads the log sees them, no later flush writes them, and a power cut
 * takes them away, with every commit after them. Writing them again makes them dirty, and the flush then writes them.
 *
 * To be called under the lock of servers, before anything is written to the store. Programs that have the store open
 * already may go on reading; SQLite's write lock keeps them from writing.
 *
 * @throws errors of SQLite; those of the file system with the log's path. Nothing has been made of the log then.
 */
export function makeLogDurable(path: string): void {
  const log = `${path}-wal`;
  if (fileSize(log) === 0) return;
  const reader = openConnection(path, { readOnly: true });
  try {
    reader.prepare('SELECT count(*) FROM sqlite_schema').get();
    const writer = openConnection(path);
    try {
      writer.exec('BEGIN IMMEDIATE');
      rewrite(log);
    } finally {
      // While the reader is there, this does not copy the log into the database, which it must not before it is on disk.
      writer.close();
    }
  } finally {
    // Nor does this, since it may not write.
    reader.close();
  }
}

/** Every byte stays what it is, so that this can be cut off at any time. */
function rewrite(path: string): void {
  const file = openSync(path, 'r+');
  try {
    const bytes = Buffer.allocUnsafe(writes.rewrittenBytes);
    for (let at = 0; ; ) {
      const read = readSync(file, bytes, 0, bytes.length, at);
      if (read === 0) break;
      at += writeSync(file, bytes, 0, read, at);
    }
    fsyncSync(file);
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { path }) : error;
  } finally {
    closeSync(file);
  }
  flushFolder(dirname(path));
}
