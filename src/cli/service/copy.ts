import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { ConfigError, readStoreConfig, type StoreConfig, storePath } from '../../config/config.ts';
import { parseDatabaseUrl } from '../../config/database-url.ts';
import { AppError } from '../../errors.ts';
import { silentLog, systemRuntime } from '../../runtime.ts';
import { type CopySource, type CopyTarget, copyStore, type VerifiedTable } from '../../store/copy.ts';
import { requestOf } from '../../store/postgres/plants/idempotency.ts';
import { refuseLostDatabase } from '../../store/sqlite/engine/connection.ts';
import { sqliteCode } from '../../store/sqlite/engine/failure.ts';
import { openExport } from '../../store/sqlite/files/export.ts';
import { lockForServing } from '../../store/sqlite/files/lock.ts';
import { Failure } from '../failure.ts';
import { renderTable } from '../terminal/table.ts';
import { print, printJson, say } from '../terminal/terminal.ts';
import { option, required, settingOption, type Verb } from '../verb.ts';
import { showCopyProgress } from './copy-progress.ts';
import { onDatabase } from './database-failure.ts';

type CopyFlags = { from: string; to?: string; databasePooler?: string; json?: true };

export const verb: Verb = {
  options: [
    required('--from <store>', 'the embedded store: sqlite: and its data folder, or its file', parseSource),
    option('--to <url>', 'the PostgreSQL database (default: DATABASE_URL)'),
    option('--json', 'print a JSON array of {table, rows, checksum}'),
    settingOption('databasePooler'),
  ],
  examples: [
    'copy --from sqlite:/var/lib/plant-store',
    'copy --from sqlite:./data --to postgres://plants@db.example.org/plants',
  ],
  notes: `Everything moves: users, tokens, shares, plants, events, webhooks with their secrets, deliveries, kept answers. Tokens,
cursors and positions in feeds stay valid. The store that is copied keeps what it has; no service may run on it. The
database must be empty, or hold a copy that was broken off: then the same command goes on where that was. Until it is
done no service starts on the database. In the end every row is read back and compared.

A command line is visible to everybody on the machine, so a password has no place in it: set DATABASE_URL, or PGPASSWORD
beside --to.`,
  run,
};

async function run({ from, to, databasePooler, json }: CopyFlags): Promise<void> {
  const flags = databasePooler === undefined ? {} : { databasePooler };
  if (to !== undefined) refuseTarget(to);
  const config = readStoreConfig(
    to === undefined ? process.env : { ...process.env, DATABASE_URL: to },
    flags,
  );
  if (config.databaseUrl === undefined) {
    throw new ConfigError(['DATABASE_URL: It is not set, and without --to it says where the copy goes.']);
  }
  const copied = await withLockedSource(from, async (source) => {
    const target = await onDatabase(config.databaseUrl, () => openTarget(config));
    return copyInto(target, source).finally(target.close);
  });
  if (json) return printJson(copied);
  const rows = copied.map(({ table, rows, checksum }) => [table, String(rows), `${checksum} ok`]);
  print(...renderTable(['TABLE', 'ROWS', 'CHECKSUM'], rows));
  say('The copy is done. Start the service with DATABASE_URL from now on: the old store gets nothing new.');
}

async function copyInto(target: CopyTarget, source: CopySource): Promise<VerifiedTable[]> {
  const rows = source.tables.reduce((sum, table) => sum + table.count(), 0);
  const report = showCopyProgress(rows);
  try {
    return await copyStore({ source, target, report });
  } catch (error) {
    throw error instanceof AppError ? brokenOff(error) : error;
  } finally {
    report.end();
  }
}

/** By the database, or the way to it. Whether its last transaction was committed the next copy sees. */
function brokenOff(error: AppError): Failure {
  const reason = error.cause instanceof Error ? error.cause.message : error.message;
  return new Failure(
    `The copy was broken off: ${reason.replace(/\.$/, '')}. The same command goes on where it was.`,
    { cause: error },
  );
}

/** No service runs on the store meanwhile, and no verb writes to it. */
async function withLockedSource<T>(path: string, work: (source: CopySource) => Promise<T>): Promise<T> {
  refuseLostDatabase(path);
  if (!existsSync(path)) throw new Failure(`There is no store at ${path}.`);
  const unlock = lock(path);
  try {
    const source = openExport({ path, now: systemRuntime(silentLog).clock.now(), requestOf });
    return await work(source).finally(source.close);
  } finally {
    unlock();
  }
}

function lock(path: string): () => void {
  try {
    return lockForServing(join(dirname(path), 'serving.lock'));
  } catch (cause) {
    if (sqliteCode(cause) !== undefined) throw cause;
    throw new Failure(
      `A server runs on the store ${path}, and would write what the copy does not have: stop it first.`,
      { cause },
    );
  }
}

async function openTarget({ databaseUrl, databasePooler }: StoreConfig): Promise<CopyTarget> {
  const { openImport } = await import('../../store/postgres/engine/import.ts');
  if (!databaseUrl) throw new Error('no database');
  const { clock, log } = systemRuntime(silentLog);
  return openImport({ url: databaseUrl, pooled: databasePooler === 'transaction', now: clock.now(), log });
}

/** The file of an embedded store. */
function parseSource(text: string): string {
  const [, place] = /^sqlite:(.+)$/.exec(text) ?? [];
  if (place === undefined) {
    throw new InvalidArgumentError(
      'It has the form sqlite:/var/lib/plant-store, a data folder, or names its file.',
    );
  }
  const named = resolve(place);
  return statSync(named, { throwIfNoEntry: false })?.isFile() ? named : storePath(named);
}

/** Commander would repeat the value, which may hold a password. */
function refuseTarget(text: string): void {
  try {
    parseDatabaseUrl(text);
  } catch (error) {
    throw new ConfigError([`--to: ${error instanceof Error ? error.message : error}`]);
  }
}
