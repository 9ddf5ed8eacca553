import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { ConfigError, type Flags, readStoreConfig, storePath } from '../../config/config.ts';
import { type DatabaseUrl, parseDatabaseUrl } from '../../config/database-url.ts';
import { AppError } from '../../errors.ts';
import { silentLog, systemRuntime, throttle } from '../../runtime.ts';
import {
  type CopyReport,
  type CopySource,
  type CopyTarget,
  copyStore,
  type VerifiedTable,
} from '../../store/copy.ts';
import { refuseLostDatabase } from '../../store/sqlite/engine/connection.ts';
import { openExport } from '../../store/sqlite/files/copy-source.ts';
import { Failure } from '../failure.ts';
import { barOf } from '../terminal/progress.ts';
import { renderTable } from '../terminal/table.ts';
import { isWatched, print, printJson, replaceLine, say } from '../terminal/terminal.ts';
import { roughDuration } from '../terminal/time.ts';
import { option, required, settingOption, type Verb } from '../verb.ts';
import { onDatabase } from './database-failure.ts';
import { lockAgainstServers, onFiles } from './embedded-store.ts';
import { sayMigrationWaits } from './store.ts';

type CopyFlags = Flags & { from: string; to?: string; json?: true };

export const verb: Verb = {
  options: [
    required('--from <store>', 'the embedded store: sqlite: plus its data folder or file', parseSource),
    option('--to <url>', 'the PostgreSQL database (default: DATABASE_URL)'),
    option('--json', 'print a JSON array of {table, rows, checksum}'),
    settingOption('databasePooler'),
  ],
  examples: [
    'copy --from sqlite:/var/lib/plant-store',
    'copy --from sqlite:./data --to postgres://plants@db.example.org/plants',
  ],
  notes: `Copies everything: users, tokens, shares, plants, events, webhooks with their secrets, deliveries, stored answers. Tokens,
cursors and positions in feeds stay valid. No service may run on the source. It stays a complete store, but one of an
older version is migrated first, and then only this version or a newer one can open it. The database must be empty, or contain an interrupted copy, which the same command resumes. No service starts on the database until the copy
is done. At the end every row is read back and compared.

Every user of the machine can read a command line, so do not put a password there: set DATABASE_URL, or set PGPASSWORD
and use --to.`,
  run,
};

async function run({ from, to, json, ...flags }: CopyFlags): Promise<void> {
  if (to !== undefined) refuseTarget(to);
  const config = readStoreConfig(
    to === undefined ? process.env : { ...process.env, DATABASE_URL: to, DATABASE_URL_FILE: '' },
    flags,
  );
  const { databaseUrl: url, databasePooler } = config;
  if (url === undefined) {
    throw new ConfigError(['DATABASE_URL: Not set. Set it, or pass --to, to name the target.']);
  }
  const copied = await withLockedSource(from, async (source) => {
    const target = await onDatabase(url, () => openTarget(url, databasePooler === 'transaction'));
    return copyInto(target, source).finally(target.close);
  });
  if (json) return printJson(copied);
  const rows = copied.map(({ table, rows, checksum }) => [table, String(rows), `${checksum} ok`]);
  print(renderTable(['TABLE', 'ROWS', 'CHECKSUM'], rows));
  say(
    'The copy is done. From now on start the service with DATABASE_URL: the old store receives nothing new.',
  );
}

async function copyInto(target: CopyTarget, source: CopySource): Promise<VerifiedTable[]> {
  const rows = source.tables.reduce((sum, table) => sum + table.count(), 0);
  using report = showProgress(rows);
  try {
    return await copyStore({ source, target, report });
  } catch (error) {
    throw error instanceof AppError ? brokenOff(error) : error;
  }
}

/** For a failure of the database or the network. The next copy finds out whether the last transaction was committed. */
function brokenOff(error: AppError): Failure {
  const reason = error.cause instanceof Error ? error.cause.message : error.message;
  return new Failure(
    `The copy was interrupted: ${reason.replace(/\.$/, '')}. Run the same command to resume it.`,
    { cause: error },
  );
}

/** Keeps services and other verbs off the source meanwhile. */
async function withLockedSource<T>(path: string, work: (source: CopySource) => Promise<T>): Promise<T> {
  onFiles(`The store ${path} cannot be read`, () => refuseLostDatabase(path));
  if (!existsSync(path)) throw new Failure(`There is no store at ${path}.`);
  const { requestOf } = await import('../../store/postgres/plants/idempotency.ts');
  const refusal = `A server, or another copy or restore, is running on the store ${path}, and the copy would miss what it writes. Stop the server, or wait.`;
  using _lock = lockAgainstServers(dirname(path), refusal);
  const source = openExport({ path, now: systemRuntime(silentLog).clock.now(), requestOf });
  return await work(source).finally(source.close);
}

async function openTarget(url: DatabaseUrl, pooled: boolean): Promise<CopyTarget> {
  const { openImport } = await import('../../store/postgres/engine/copy-target.ts');
  const { clock, log } = systemRuntime(silentLog);
  return openImport({ url, pooled, now: clock.now(), log, onWait: sayMigrationWaits });
}

function parseSource(text: string): string {
  const [, path] = /^sqlite:(.+)$/.exec(text) ?? [];
  if (path === undefined) {
    throw new InvalidArgumentError(
      "It must be sqlite: plus a data folder or the store's file, such as sqlite:/var/lib/plant-store.",
    );
  }
  const named = resolve(path);
  // Not so for a folder that may not be entered, which is explained later.
  return existsSync(named) && statSync(named).isFile() ? named : storePath(named);
}

/** Checked here because Commander would print the value, which may contain a password. */
function refuseTarget(text: string): void {
  try {
    parseDatabaseUrl(text);
  } catch (error) {
    throw new ConfigError([`--to: ${error instanceof Error ? error.message : error}`]);
  }
}

const WORDS = { copy: 'Copying', verify: 'Comparing' } as const;
const EVERY_MS = 100;

/**
 * A bar on a terminal; elsewhere a line for each table that has rows.
 * @param rows in the source
 */
function showProgress(rows: number): CopyReport & Disposable {
  const startedAt = performance.now();
  // Every row is read once to copy it, and once on each side to compare it.
  const steps = 3 * rows;
  const isDue = throttle(EVERY_MS);
  let done = 0;
  let what = '';
  let said = '';

  function showBar(): void {
    const part = steps === 0 ? 1 : Math.min(1, done / steps);
    replaceLine(`${what.padEnd(24)} ${barOf(part, 30)} ${roughDuration(performance.now() - startedAt)}`);
  }

  return {
    begins(phase, table) {
      what = `${WORDS[phase]} ${table}`;
      showBar();
    },
    advances(more) {
      done += more;
      if (isDue()) showBar();
      if (isWatched() || more === 0 || said === what) return;
      say(what);
      said = what;
    },
    [Symbol.dispose]: () => replaceLine(''),
  };
}
