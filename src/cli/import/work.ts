import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { idempotency } from '../../limits.ts';
import type { Clock } from '../../runtime.ts';
import type { Api, ApiFlags } from '../api-options.ts';
import { Failure } from '../failure.ts';
import { imports } from '../limits.ts';
import { showProgress } from '../terminal/progress.ts';
import { say } from '../terminal/terminal.ts';
import { createErrorReport, prepareReport } from './errors.ts';
import { bytesOf, endWith, type ImportFile, inspect, pipedBytes, rowsOf } from './file.ts';
import { createMarker, type Marker, readMarker, removeMarker } from './marker.ts';
import { showImportProgress } from './progress.ts';
import type { ImportFormat } from './rows.ts';
import { FORGOTTEN, type ImportCounts, runImport } from './run.ts';
import { createSender } from './sender.ts';
import { type ImportSummary, printSummary, saySummary } from './summary.ts';

export type ImportFlags = ApiFlags & {
  format?: ImportFormat;
  dryRun?: true;
  errors?: string;
  again?: true;
  concurrency?: number;
  /** Milliseconds. */
  patience?: number;
  quiet?: true;
  json?: true;
};

export type ImportOrder = {
  /** `-` is standard input. */
  file: string;
  format: ImportFormat;
  flags: ImportFlags;
  api: Api;
  /** Aborted when no further row is to be sent. */
  stopping: AbortController;
  clock: Clock;
};

/** Imports a file, or goes on with an import of it. Gives whether every row was added. */
export async function importFile(order: ImportOrder): Promise<boolean> {
  const { file } = order;
  const stamp = stampOf(file);
  const content = await inspected(order);
  const { sha256, run, ...begun } = begin(order, content);
  const summary = await work(order, {
    ...begun,
    bytes: bytesOf(file),
    rows: content.rows,
    // The same for the same file, so that a row is added once within a day.
    keyBase: `import-${sha256.slice(0, 32)}${run}`,
    comesAgain: true,
  });
  if (stampOf(file) !== stamp) {
    throw new Failure(
      `${file} was changed or removed while it was imported, so rows of the old and of the new content may be in the store.`,
    );
  }
  if (!summary.isStopped) removeMarker(markerPath(file));
  return finish(order, summary);
}

/** Imports what can be read only once. */
export async function importStream(order: ImportOrder): Promise<boolean> {
  prepareReport(errorsPath(order), false);
  const summary = await work(order, {
    bytes: await pipedBytes(order.file),
    rows: undefined,
    // Nothing tells whether it is the same that comes another time.
    keyBase: `import-${randomBytes(16).toString('hex')}`,
    comesAgain: false,
    forgottenAt: undefined,
    onUntouched() {},
  });
  return finish(order, summary);
}

/** A large file takes a while, of which a terminal is told. */
async function inspected({ file, format, flags, stopping }: ImportOrder): Promise<ImportFile> {
  const progress = showProgress(`Reading ${file}`);
  const began = performance.now();
  const onRows = () => {
    if (!flags.quiet && performance.now() - began > imports.silentReadMs) progress.update();
  };
  const bytes = endWith(stopping.signal, bytesOf(file));
  const content = await inspect(bytes, file, format, onRows).finally(progress.end);
  if (stopping.signal.aborted) throw new Failure('Stopped before anything was sent.');
  return content;
}

/** Changes when somebody writes to the file, or removes it. */
function stampOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.size} ${found.mtimeNs} ${found.ino}` : 'gone';
}

function markerPath(file: string): string {
  return `${file}.import`;
}

type Begun = Pick<Marker, 'sha256' | 'run'> & Pick<Work, 'forgottenAt' | 'onUntouched'>;

/** Finds the marker of an import that has not ended, or makes one. Throws a `Failure` unless that is an import of this content. */
function begin(order: ImportOrder, { sha256, hasIds }: ImportFile): Begun {
  const { file, flags, api, clock } = order;
  const path = markerPath(file);
  const left = readMarker(path);
  if (left !== undefined && !flags.again) {
    refuseAnother(order, left, sha256);
    const forgottenAt = hasIds ? undefined : Date.parse(left.begunAt) + idempotency.keptMs;
    if (forgottenAt !== undefined && clock.now() >= forgottenAt) throw new Failure(FORGOTTEN);
    prepareReport(errorsPath(order), true);
    if (!flags.quiet) say(`Continuing the import that began at ${left.begunAt}.`);
    return { ...left, forgottenAt, onUntouched() {} };
  }
  prepareReport(errorsPath(order), true);
  const run = flags.again ? randomBytes(6).toString('hex') : '';
  if (left) removeMarker(path);
  createMarker(path, { sha256, url: api.url, begunAt: new Date(clock.now()).toISOString(), run });
  return { sha256, run, forgottenAt: undefined, onUntouched: () => removeMarker(path) };
}

function refuseAnother({ file, api }: ImportOrder, left: Marker, sha256: string): void {
  const begun = `An import of ${file} was begun (see ${markerPath(file)}) and did not end.`;
  if (left.sha256 !== sha256) {
    throw new Failure(
      `${begun} The file has changed since. Put it back as it was, or add every row of it with --again.`,
    );
  }
  if (left.url !== api.url) {
    throw new Failure(
      `${begun} It went to ${left.url}. Continue it with that --url, or add every row with --again.`,
    );
  }
}

type Work = {
  bytes: Readable;
  keyBase: string;
  /** How many there are; undefined when only the end will tell. */
  rows: number | undefined;
  /** Whether the next run reads the same rows: not from a pipe. */
  comesAgain: boolean;
  /** From when on the service may have forgotten rows that an earlier run has added; infinite without such a run. */
  forgottenAt: number | undefined;
  /** Called when the import ends and has certainly added no row. */
  onUntouched(): void;
};

async function work(order: ImportOrder, parts: Work): Promise<ImportSummary> {
  const { bytes, rows: of, comesAgain, onUntouched } = parts;
  const { file, format, flags, api, stopping, clock } = order;
  const { concurrency = imports.requests.default, patience: patienceMs = imports.patienceMs } = flags;
  const counts: ImportCounts = { added: 0, addedBefore: 0, failed: 0 };
  const doneRows = () => counts.added + counts.addedBefore + counts.failed;
  const began = performance.now();

  const rows = rowsOf(endWith(stopping.signal, bytes), file === '-' ? 'Standard input' : file, format);
  const report = createErrorReport(errorsPath(order));
  const state = () => ({ rows: doneRows(), failed: counts.failed, of });
  const progress = flags.quiet ? undefined : showImportProgress(state);
  const onTrouble = (what: string | undefined) =>
    progress?.note(what ? `${what} Trying again …` : 'It answers again.');
  const sender = createSender({ api, concurrency, patienceMs, stopping: stopping.signal, onTrouble });
  /** What is done by now. */
  function conclude(isStopped: boolean): ImportSummary {
    progress?.end();
    report.end(!isStopped || !comesAgain);
    const left = of === undefined ? undefined : of - doneRows();
    const seconds = (performance.now() - began) / 1000;
    return { counts, left, errors: report.path(), seconds, isStopped, comesAgain };
  }

  try {
    await runImport({ ...parts, rows, sender, report, counts, concurrency, stopping, clock });
  } catch (error) {
    if (doneRows() > 0) saySummary(conclude(true));
    throw error;
  } finally {
    progress?.end();
    await sender.close();
    if (!sender.mayHaveAdded()) onUntouched();
  }
  return conclude(stopping.signal.aborted && doneRows() !== of);
}

function finish({ flags }: ImportOrder, summary: ImportSummary): boolean {
  if (flags.json) printSummary(summary);
  const isComplete = !summary.isStopped && summary.counts.failed === 0;
  // That rows were not added is worth knowing also to those who want quiet.
  if (!flags.quiet || !isComplete || summary.counts.addedBefore > 0) saySummary(summary);
  return isComplete;
}

function errorsPath({ file, flags }: ImportOrder): string {
  return flags.errors ?? (file === '-' ? 'stdin.errors.csv' : `${file}.errors.csv`);
}
