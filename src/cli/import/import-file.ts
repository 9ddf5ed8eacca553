import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Me } from '../../../packages/client/src/schemas.ts';
import { idempotency } from '../../limits.ts';
import type { Clock } from '../../runtime.ts';
import { connect } from '../api.ts';
import type { Api, ApiFlags } from '../api-options.ts';
import { OPEN } from '../atomic-file.ts';
import type { PlantFormat } from '../export/formats.ts';
import { Failure } from '../failure.ts';
import { imports } from '../limits.ts';
import { showProgress } from '../terminal/progress.ts';
import { abortOnSignal } from '../terminal/signals.ts';
import { isQuiet, say } from '../terminal/terminal.ts';
import { createErrorReport, prepareReport } from './errors.ts';
import { bytesOf, endWith, type ImportFile, inspect, pipedBytes, rowsOf } from './file.ts';
import { createMarker, type Marker, readMarker, removeMarker } from './marker.ts';
import { type ImportSummary, printSummary, saySummary, showImportProgress } from './progress.ts';
import { FORGOTTEN, type ImportCounts, rowsDone, type SendParts, sendRows } from './send-rows.ts';
import { createSender } from './sender.ts';

export type ImportFlags = ApiFlags & {
  format?: PlantFormat;
  dryRun?: true;
  errors?: string;
  again?: true;
  concurrency?: number;
  /** Milliseconds. */
  patience?: number;
  json?: true;
};

type ImportOrder = {
  /** `-` is standard input. */
  file: string;
  format: PlantFormat;
  flags: ImportFlags;
  api: Api;
  /** Aborted to send no more rows. */
  stopping: AbortController;
  clock: Clock;
};

/** Imports a file, or resumes its import. Returns whether every row was added. */
export async function importFile(order: ImportOrder): Promise<boolean> {
  const { file } = order;
  abortOnSignal(order.stopping);
  const stamp = stampOf(file);
  const content = await inspected(order);
  const { run, ...begun } = await begin(order, content);
  const summary = await importRows(order, {
    ...begun,
    bytes: bytesOf(file),
    rows: content.rows,
    // The same for the same file, so that a row is added once within a day.
    keyBase: `import-${content.sha256.slice(0, 32)}${run}`,
  });
  if (stampOf(file) !== stamp) {
    throw new Failure(
      `${file} changed or disappeared during the import, so the store may contain rows of both the old and the new content.`,
    );
  }
  if (!summary.isStopped) removeMarker(markerPath(file));
  return finish(order, summary);
}

/** Imports from a pipe, which can be read only once. */
export async function importStream(order: ImportOrder): Promise<boolean> {
  prepareReport(errorsPath(order), false);
  const bytes = await pipedBytes(order.file);
  // Not before: until someone writes to the pipe there is nothing to stop, and Ctrl+C ends the process at once.
  abortOnSignal(order.stopping);
  const summary = await importRows(order, {
    bytes,
    // Random: nothing tells whether the next run reads the same rows.
    keyBase: `import-${randomBytes(16).toString('hex')}`,
  });
  return finish(order, summary);
}

async function inspected({ file, format, stopping }: ImportOrder): Promise<ImportFile> {
  const progress = showProgress(`Reading ${file}`);
  const began = performance.now();
  const onRows = () => {
    if (performance.now() - began > imports.silentReadMs) progress.update();
  };
  const bytes = endWith(stopping.signal, bytesOf(file));
  const content = await inspect(bytes, file, format, onRows).finally(progress.end);
  if (stopping.signal.aborted) throw new Failure('Stopped before anything was sent.');
  return content;
}

/** The user of the token. If needed, waits as long as rows would; otherwise undefined if the service does not tell. */
async function userOf({ api, flags, stopping: { signal } }: ImportOrder, isNeeded: boolean) {
  const giveUpMs = flags.patience ?? imports.patienceMs;
  const firstAnswerMs = Math.min(imports.firstAnswerMs, giveUpMs);
  const patience = isNeeded ? { stopping: signal, giveUpMs, firstAnswerMs } : undefined;
  const service = connect(api, { deadlineMs: firstAnswerMs, ...(patience && { patience }) });
  try {
    return (await service.read<Me>({ path: ['me'], signal })).user;
  } catch (error) {
    if (signal.aborted) throw new Failure('Stopped before anything was sent.');
    if (isNeeded) throw error;
    return undefined;
  }
}

/** Changes when the file is written or removed. */
function stampOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.size} ${found.mtimeNs} ${found.ino}` : 'gone';
}

function markerPath(file: string): string {
  return `${file}.import`;
}

type Begun = Pick<Marker, 'run'> & Pick<Input, 'forgottenAt' | 'onUntouched'>;

/** Finds the marker of an unfinished import, or creates one. Throws a `Failure` for the marker of another import. */
async function begin(order: ImportOrder, { sha256, hasIds }: ImportFile): Promise<Begun> {
  const { file, flags, api, clock } = order;
  const path = markerPath(file);
  const left = readMarker(path);
  if (left !== undefined && !flags.again) {
    await refuseAnother(order, left, sha256);
    const forgottenAt = hasIds ? undefined : Date.parse(left.begunAt) + idempotency.keptMs;
    if (forgottenAt !== undefined && clock.now() >= forgottenAt) throw new Failure(FORGOTTEN);
    prepareReport(errorsPath(order), true);
    say(`Continuing the import that started at ${left.begunAt}.`);
    return { run: left.run, forgottenAt };
  }
  // If the service does not tell, the rows find out why.
  const user = await userOf(order, false);
  prepareReport(errorsPath(order), true);
  const run = flags.again ? randomBytes(6).toString('hex') : '';
  if (left) removeMarker(path);
  createMarker(path, { sha256, url: api.url, user, begunAt: new Date(clock.now()).toISOString(), run });
  return { run, onUntouched: () => removeMarker(path) };
}

async function refuseAnother(order: ImportOrder, left: Marker, sha256: string): Promise<void> {
  const { file, api } = order;
  const begun = `An import of ${file} started (see ${markerPath(file)}) but did not finish.`;
  if (left.sha256 !== sha256) {
    throw new Failure(
      `${begun} The file has changed since. Restore the old content, or add every row with --again.`,
    );
  }
  if (left.url !== api.url) {
    throw new Failure(
      `${begun} It went to ${left.url}. Continue it with that --url, or add every row with --again.`,
    );
  }
  // Without an answer the import ends: its rows might go to another user.
  if (left.user !== undefined && left.user !== (await userOf(order, true))) {
    throw new Failure(
      `${begun} It was for the user "${left.user}". Continue it with a token of that user, or add every row with --again.`,
    );
  }
}

type Input = Pick<SendParts, 'keyBase' | 'forgottenAt'> & {
  bytes: Readable;
  /** Undefined for a pipe, which tells only at its end and cannot be read again. */
  rows?: number;
  /** Called when the import ends and has certainly added nothing. */
  onUntouched?(): void;
};

async function importRows(order: ImportOrder, input: Input): Promise<ImportSummary> {
  const { bytes, rows: of, onUntouched } = input;
  const { file, format, flags, api, stopping, clock } = order;
  const { concurrency = imports.requests.default, patience: patienceMs = imports.patienceMs } = flags;
  const counts: ImportCounts = { added: 0, addedBefore: 0, failed: 0 };
  const began = performance.now();

  const rows = rowsOf(endWith(stopping.signal, bytes), file, format);
  const report = createErrorReport(errorsPath(order));
  const progress = showImportProgress(counts, of);
  const onTrouble = (what: string | undefined) =>
    progress.note(what ? `${what} Retrying …` : 'The service answers again.');
  const sender = createSender({ api, concurrency, patienceMs, stopping: stopping.signal, onTrouble });
  function conclude(isStopped: boolean): ImportSummary {
    const errors = report.end(!isStopped || of === undefined);
    const left = of === undefined ? undefined : of - rowsDone(counts);
    return { counts, left, errors, seconds: (performance.now() - began) / 1000, isStopped };
  }

  try {
    const sending = sendRows({ ...input, rows, sender, report, counts, concurrency, stopping, clock });
    await sending.finally(progress.end);
  } catch (error) {
    if (rowsDone(counts) > 0) finish(order, conclude(true));
    throw error;
  } finally {
    await sender.close();
    if (!sender.mayHaveAdded()) onUntouched?.();
  }
  return conclude(stopping.signal.aborted && rowsDone(counts) !== of);
}

function finish({ flags }: ImportOrder, summary: ImportSummary): boolean {
  if (flags.json) printSummary(summary);
  const isComplete = !summary.isStopped && summary.counts.failed === 0;
  // Even with --quiet, say that rows were not added.
  if (!isQuiet() || !isComplete || summary.counts.addedBefore > 0) saySummary(summary);
  return isComplete;
}

function errorsPath({ file, flags }: ImportOrder): string {
  // A name such as /dev/fd/63 lasts no longer than this process, and nothing can be created beside it.
  return flags.errors ?? (file === '-' || OPEN.test(file) ? 'stdin.errors.csv' : `${file}.errors.csv`);
}
