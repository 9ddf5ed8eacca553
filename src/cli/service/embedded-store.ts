import { join } from 'node:path';
import { readStoreConfig, storePath } from '../../config/config.ts';
import { sqliteCode } from '../../store/sqlite/engine/failure.ts';
import { lockForServing } from '../../store/sqlite/files/lock.ts';
import { DamagedStore } from '../../store/sqlite/files/whole-store.ts';
import { Failure } from '../failure.ts';
import type { StoreFlags } from './store.ts';
import { sqliteReason } from './store-failure.ts';
import { systemReason } from './system-failure.ts';

/** Where the embedded store is, for verbs that are about its file. */
export type EmbeddedStore = { dataDir: string; path: string };

/** @param verb as it stands in the message when the store is in a database instead */
export function embeddedStore(flags: StoreFlags, verb: 'backup' | 'restore'): EmbeddedStore {
  const { databaseUrl, dataDir } = readStoreConfig(process.env, flags);
  if (databaseUrl) {
    throw new Failure(
      `DATABASE_URL is set: the store is in the database ${databaseUrl.shown}, and ${verb} is for the data folder. ` +
        'Use pg_dump and pg_restore, or point-in-time recovery: docs/how-to/run-on-postgresql.md, "Back up and restore".',
    );
  }
  return { dataDir, path: storePath(dataDir) };
}

/** Keeps servers away from a data folder until it is given back. */
export function lockAgainstServers({ dataDir }: EmbeddedStore): () => void {
  try {
    return lockForServing(join(dataDir, 'serving.lock'));
  } catch (cause) {
    if (sqliteCode(cause) !== undefined) throw cause;
    throw new Failure(`A server runs on the data folder ${dataDir}: stop it first.`, { cause });
  }
}

/**
 * A failure of a disk, of a file, or of what is in it, in one line. Anything else is given back as it is.
 *
 * @param what what could not be done, as the beginning of a sentence
 */
export function fileFailure(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || error instanceof Failure) return error;
  if (error instanceof DamagedStore) return new Failure(`${what}: ${error.message}`, { cause: error });
  const reason = sqliteReason(error) ?? systemReason(error);
  return reason === undefined ? error : new Failure(`${what}: ${reason}.`, { cause: error });
}
