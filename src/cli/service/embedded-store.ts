import { join } from 'node:path';
import { readStoreConfig, storePath } from '../../config/config.ts';
import { sqliteCode } from '../../store/sqlite/engine/failure.ts';
import { lockForServing } from '../../store/sqlite/files/lock.ts';
import { DamagedStore } from '../../store/sqlite/files/whole-store.ts';
import { Failure } from '../failure.ts';
import type { StoreFlags } from './store.ts';
import { sqliteReason } from './store-failure.ts';
import { systemReason } from './system-failure.ts';

export type EmbeddedStore = { dataDir: string; path: string };

/** @param verb for the message when the store is in a database instead */
export function embeddedStore(flags: StoreFlags, verb: 'backup' | 'restore'): EmbeddedStore {
  const { databaseUrl, dataDir } = readStoreConfig(process.env, flags);
  if (databaseUrl) {
    throw new Failure(
      `DATABASE_URL is set: the store is in the database ${databaseUrl.shown}, and ${verb} works only on a data folder. ` +
        'Use pg_dump and pg_restore, or point-in-time recovery: docs/how-to/run-on-postgresql.md, "Back up and restore".',
    );
  }
  return { dataDir, path: storePath(dataDir) };
}

/**
 * Keeps servers off a data folder. Returns how to release it.
 *
 * @param refusal why the verb fails while a server runs there
 */
export function lockAgainstServers(dataDir: string, refusal: string): () => void {
  try {
    return lockForServing(join(dataDir, 'serving.lock'));
  } catch (cause) {
    if (sqliteCode(cause) !== undefined) throw cause;
    throw new Failure(`${refusal} Stop it first.`, { cause });
  }
}

/**
 * Explains a failure of a disk, a file or its content in one line. Returns any other error unchanged.
 *
 * @param what could not be done, as the start of a sentence
 */
export function fileFailure(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || error instanceof Failure) return error;
  if (error instanceof DamagedStore) return new Failure(`${what}: ${error.message}`, { cause: error });
  const reason = sqliteReason(error) ?? systemReason(error);
  return reason === undefined ? error : new Failure(`${what}: ${reason}.`, { cause: error });
}
