import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { refuseLostDatabase } from '../../store/sqlite/engine/connection.ts';
import { isDamage } from '../../store/sqlite/engine/failure.ts';
import { refuseCutStore } from '../../store/sqlite/engine/size-record.ts';
import { fileSize } from '../../store/sqlite/files/durable-files.ts';
import { quickCheck } from '../../store/sqlite/files/quick-check.ts';
import { aliasesOf, hasLogs } from '../../store/sqlite/files/restore.ts';
import { readSummary, removeEmptyLog, type StoreSummary } from '../../store/sqlite/files/summary.ts';
import { checks as limits } from '../limits.ts';
import { sqliteWords } from '../service/store-failure.ts';
import { systemAdvice, systemReasonOrCode } from '../service/system-failure.ts';
import { sizeText } from '../terminal/progress.ts';
import { shellWord } from '../terminal/terminal.ts';
import { type Finding, ok, problem, reasonIn, warning } from './check.ts';

const NAME = 'Store';
const RESTORE =
  'Stop the service, keep a copy of the folder, and restore a backup: plant-store restore FILE.';

/**
 * Returns what later checks need; undefined when the embedded store cannot be read.
 * @param isExplained whether the folder already explains why it cannot be read
 * @param mayBeServed whether a server may be changing its files
 */
export async function* checkStore(
  path: string,
  isExplained: boolean,
  mayBeServed: boolean,
): AsyncGenerator<Finding, StoreSummary | undefined> {
  const hadLog = existsSync(`${path}-wal`);
  const summary = (mayBeServed ? undefined : whyLost(path)) ?? lookAt(path);
  if ('verdict' in summary) {
    if (!hadLog && existsSync(`${path}-wal`)) removeEmptyLog(path);
    if (!isExplained) yield summary;
    return undefined;
  }
  yield schemaOf(summary);
  yield* filesOf(path, summary);
  yield await checkIntegrity(path);
  if (!hadLog) removeEmptyLog(path);
  if (summary.newestEventAt !== undefined) yield checkClock(summary.newestEventAt, Date.now());
  return summary;
}

/** A start refuses a store that lost a part of its files. */
function whyLost(path: string): Finding | undefined {
  try {
    refuseLostDatabase(path);
    refuseCutStore(path);
    return undefined;
  } catch (error) {
    return problem(NAME, reasonIn(error), 'Until then the service does not start.');
  }
}

function lookAt(path: string): StoreSummary | Finding {
  try {
    if (!existsSync(path) && fileSize(`${path}-wal`) === 0) {
      const advice =
        'The first start creates it: plant-store serve. If you expected a store here, check DATA_DIR.';
      return warning(NAME, `none at ${path}`, advice);
    }
    return whyRefused(path) ?? readSummary(path);
  } catch (error) {
    return unreadable(path, error);
  }
}

/** The service writes to every file of the store, while reading it may work even if it is not permitted to. */
function whyRefused(path: string): Finding | undefined {
  for (const file of [path, `${path}-wal`, `${path}-shm`].filter(existsSync)) {
    try {
      accessSync(file, constants.R_OK | constants.W_OK);
    } catch (error) {
      const text = `this user cannot read and write ${file} (${systemReasonOrCode(error)})`;
      const isOwn = statSync(file).uid === process.geteuid?.();
      const advice = isOwn ? `chmod 600 ${shellWord(file)}` : (systemAdvice(error) ?? '');
      return problem(NAME, text, advice);
    }
  }
  return undefined;
}

function unreadable(path: string, error: unknown): Finding {
  if (existsSync(`${path}-journal`)) {
    const advice = 'Nothing is lost: run the same restore again, or start the service, to finish it.';
    return problem(NAME, `${path} cannot be read: a restore was interrupted`, advice);
  }
  const words = sqliteWords(error);
  if (words === undefined) {
    const advice = 'Check that it is the right folder, or run the version of plant-store that created it.';
    return problem(NAME, `${path}: ${reasonIn(error)}`, advice);
  }
  const [reason, advice] = words;
  return problem(NAME, `${path} cannot be read: ${reason}`, isDamage(error) ? RESTORE : advice);
}

function schemaOf({ schema: { applied, known }, bytes, logBytes }: StoreSummary): Finding {
  if (applied === known) return ok(NAME, `schema ${applied}, ${sizeText(bytes + logBytes)} on disk`);
  return warning(
    NAME,
    `schema ${applied} of ${known}: from an older version of plant-store`,
    'The next start migrates it, and only a backup can undo that: plant-store backup FILE.',
  );
}

function* filesOf(path: string, { logBytes }: StoreSummary): Generator<Finding> {
  const { mode } = statSync(path);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    const text = `${path} contains secrets and is readable by other users`;
    yield warning(NAME, text, `chmod 600 ${shellWord(path)}`);
  }
  for (const alias of aliasesOf(path)) {
    const text = `${alias} is a second name of the current store: a restore was interrupted`;
    const remove = `Remove that name; the store stays: rm ${shellWord(alias)}`;
    yield warning(NAME, text, hasLogs(alias) ? 'Run it again: plant-store restore FILE.' : remove);
  }
  const log = sizeText(logBytes);
  if (logBytes < limits.logBytes) yield ok('Write-ahead log', log);
  else {
    const advice =
      'Check whether another program keeps reading the store; a restart of the service checkpoints it.';
    yield warning('Write-ahead log', `${log}: it is not checkpointed into the store`, advice);
  }
}

async function checkIntegrity(path: string): Promise<Finding> {
  const name = 'Integrity';
  const found = await quickCheck(path, limits.readMs);
  if (found === 'ok') return ok(name, 'every page is readable');
  if (found === 'late') {
    const text = `the store could not be read completely within ${limits.readMs / 1000} s; the part that was read is intact`;
    return warning(name, text, 'A backup checks all of it: plant-store backup FILE.');
  }
  return problem(name, `the store is damaged: ${found.replaceAll('\n', ' ')}`, RESTORE);
}

/** The newest event cannot be in the future. */
export function checkClock(newestEventAt: number, now: number): Finding {
  const time = new Date(now).toISOString();
  if (newestEventAt - now < limits.clockMs) return ok('Clock', `${time}, after the newest event`);
  const seconds = Math.round((newestEventAt - now) / 1000);
  return warning(
    'Clock',
    `${time} is ${seconds} s before the newest event in the store: the clock is or was wrong`,
    'Set the clock if it is wrong: token expiry and retries depend on it. Until the time of that event, new events count as created at it: they do not expire, and every replay sends them.',
  );
}
