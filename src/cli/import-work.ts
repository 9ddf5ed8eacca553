import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { Failure } from './failure.ts';
import { openErrorReport, refuseOldReport } from './import-errors.ts';
import { bytesOf, endWith, type ImportFile, inspect, pipedBytes, rowsOf } from './import-file.ts';
import type { ImportOrder } from './import-flags.ts';
import {
  type ImportCounts,
  type ImportIdentity,
  type Journal,
  type LeftJournal,
  NO_COUNTS,
  openJournal,
  readJournal,
  removeJournal,
} from './import-journal.ts';
import { showImportProgress } from './import-progress.ts';
import { runImport } from './import-run.ts';
import { createSender } from './import-sender.ts';
import { type ImportSummary, printSummary, rowsText, saySummary } from './import-summary.ts';
import { imports } from './limits.ts';
import { showProgress } from './progress.ts';
import { insist, say } from './terminal.ts';

/** Imports a file, or goes on with an import of it. Gives whether every row was added. */
export async function importFile(order: ImportOrder): Promise<boolean> {
  const { file, flags } = order;
  const path = flags.journal ?? `${file}.import`;
  // Also when it is not gone on with: it is written over, and must be one.
  const found = readJournal(path);
  const left = flags.restart ? undefined : found;
  const errors = errorsPath(order, left);
  if (left === undefined || left.counts.report.bytes === 0) refuseOldReport(errors);
  const stamp = stampOf(file);
  const { sha256, rows } = await inspected(order);
  const identity = identify(order, sha256, errors);
  if (left) refuseAnother(order, path, left.identity, identity);
  const run = left ? left.identity.run : flags.restart ? randomBytes(6).toString('hex') : '';
  const journal = openJournal(path, { ...identity, run }, left?.entry);
  if (left && !flags.quiet)
    say(`Going on with the import in ${path}: ${left.rows} of ${rows} rows are done.`);
  const begun: Begun = { bytes: bytesOf(file), keyBase: keyBase(sha256, run), journal, rows, left, errors };
  const summary = await work(order, begun).finally(() => {
    journal.close();
    // It would keep nothing but the way to go on with what has not begun: a wrong token, say.
    if (journal.rows() === 0 && run === '') removeJournal(path);
  });
  if (stampOf(file) !== stamp) throw changedMeanwhile(file, path);
  if (!summary.isStopped) removeJournal(path);
  return finish(order, { ...summary, journal: path });
}

/** A large file takes a while, of which a terminal is told. */
async function inspected({ file, format, flags, stopping }: ImportOrder): Promise<ImportFile> {
  const progress = showProgress(`Reading ${file}`);
  const began = performance.now();
  const isLong = () => performance.now() - began > imports.silentReadMs;
  const onRead = () => !flags.quiet && isLong() && progress.update();
  return inspect(file, format, { stopping: stopping.signal, onRead }).finally(progress.end);
}

/** Changes when somebody writes to the file, or removes it. */
function stampOf(file: string): string {
  const there = statSync(file, { bigint: true, throwIfNoEntry: false });
  return there ? `${there.size} ${there.mtimeNs} ${there.ino}` : 'gone';
}

function changedMeanwhile(file: string, journal: string): Failure {
  return new Failure(
    `${file} was changed or removed while it was imported, so rows of before and after may be in the store. ${journal} knows the one of before.`,
  );
}

/** Imports what can be read only once. */
export async function importStream(order: ImportOrder): Promise<boolean> {
  const { file } = order;
  const errors = errorsPath(order, undefined);
  refuseOldReport(errors);
  const bytes = await pipedBytes(file);
  // Nothing tells whether it is the same that comes another time.
  const base = keyBase(randomBytes(32).toString('hex'), '');
  const begun = { bytes, keyBase: base, journal: undefined, rows: undefined, left: undefined, errors };
  return finish(order, { ...(await work(order, begun)), journal: undefined });
}

/** What is known when the first row is sent. */
type Begun = {
  bytes: Readable;
  keyBase: string;
  journal: Journal | undefined;
  /** How many there are; undefined when only the end will tell. */
  rows: number | undefined;
  left: LeftJournal | undefined;
  errors: string;
};

async function work(order: ImportOrder, begun: Begun): Promise<Omit<ImportSummary, 'journal'>> {
  const { file, format, flags, api, stopping } = order;
  const { left, errors, journal } = begun;
  const counts: ImportCounts = { ...(left?.counts ?? NO_COUNTS) };
  const doneRows = () => counts.added + counts.addedBefore + counts.failed;
  const before = doneRows();
  const began = performance.now();
  const { concurrency = imports.requests.default, patience: patienceMs = imports.patienceMs } = flags;

  let titles: readonly string[] = [];
  const bytes = endWith(stopping.signal, begun.bytes);
  const rows = rowsOf(bytes, file === '-' ? 'Standard input' : file, format, (found) => {
    titles = found;
  });
  const report = await openErrorReport(errors, {
    mark: counts.report,
    isExact: left?.entry.isClosed ?? true,
    titles: () => titles,
  });
  const state = () => ({ rows: doneRows(), failed: counts.failed, of: begun.rows });
  const progress = flags.quiet ? undefined : showImportProgress(state);
  const onTrouble = (what: string | undefined) =>
    progress?.note(what ? `${what} Trying again …` : 'It answers again.');
  const sender = createSender({ api, concurrency, patienceMs, stopping: stopping.signal, onTrouble });
  const keyOf = (row: number) => `${begun.keyBase}-${row}`;
  try {
    await runImport({
      rows,
      keyOf,
      sender,
      report,
      journal,
      counts,
      isFirstRun: !left,
      concurrency,
      stopping,
    });
  } catch (error) {
    progress?.end();
    if (doneRows() > 0) insist(soFar(counts, journal));
    throw error;
  } finally {
    progress?.end();
    report.close();
    await sender.close();
  }
  const remaining = begun.rows === undefined ? undefined : begun.rows - doneRows();
  const isStopped = stopping.signal.aborted && remaining !== 0;
  const seconds = (performance.now() - began) / 1000;
  return { counts, left: remaining, errors, seconds, rowsNow: doneRows() - before, isStopped };
}

/** Said before what ended the import. */
function soFar({ added, addedBefore, failed }: ImportCounts, journal: Journal | undefined): string {
  const goesOn = journal === undefined ? '' : ' The same command goes on there.';
  const sum = added + addedBefore;
  return `${rowsText(sum)} ${sum === 1 ? 'was' : 'were'} added and ${failed} failed until the import ended.${goesOn}`;
}

function finish({ flags }: ImportOrder, summary: ImportSummary): boolean {
  if (flags.json) printSummary(summary);
  const isComplete = !summary.isStopped && summary.counts.failed === 0;
  // That rows were not added is worth knowing also to those who want quiet.
  if (!flags.quiet || !isComplete || summary.counts.addedBefore > 0) saySummary(summary);
  return isComplete;
}

/** An import that goes on goes on with its report. */
function errorsPath({ file, flags }: ImportOrder, left: LeftJournal | undefined): string {
  const wanted = flags.errors ?? (file === '-' ? 'stdin.errors.csv' : `${file}.errors.csv`);
  const kept = left?.identity.errors;
  if (kept === undefined || kept === resolve(wanted)) return wanted;
  if (flags.errors === undefined) return kept;
  if (left?.counts.report.bytes === 0) return wanted;
  throw new Failure(
    `The rows that failed so far are in ${kept}. Go on without --errors, or anew with --restart.`,
  );
}

function identify({ format, api }: ImportOrder, sha256: string, errors: string): ImportIdentity {
  const token = createHash('sha256').update(api.token).digest('hex');
  return { sha256, format, url: api.url, token, run: '', errors: resolve(errors) };
}

/** Throws unless the import that was left is this one. */
function refuseAnother(
  { file, flags }: ImportOrder,
  path: string,
  was: ImportIdentity,
  is: ImportIdentity,
): void {
  const begun = `An import of ${file} was begun (${path}), and`;
  const anew = 'or begin anew with --restart, which adds every row.';
  if (was.sha256 !== is.sha256 || was.format !== is.format) {
    throw new Failure(`${begun} the file has changed since. Put it back as it was, ${anew}`);
  }
  if (was.url !== is.url) {
    throw new Failure(`${begun} it went to ${was.url}. Go on with that --url, ${anew}`);
  }
  if (was.token !== is.token && !flags.newToken) {
    throw new Failure(
      `${begun} it was with another token. Go on with that one or, with another token of the same user, with --new-token, ${anew}`,
    );
  }
}

/** The key of a row is this and its number: the same for the same file, so that a row is added once within a day. */
function keyBase(sha256: string, run: string): string {
  return `import-${sha256.slice(0, 32)}${run}`;
}
