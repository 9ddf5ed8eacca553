import type { Draft } from '../import/rows.ts';
import { plantJson } from '../plants/plant.ts';
import type { ErrorReport } from './import-errors.ts';
import type { ImportCounts, Journal } from './import-journal.ts';
import type { ImportRow } from './import-rows.ts';
import type { Sender } from './import-sender.ts';
import { imports } from './limits.ts';

export type RunParts = {
  rows: AsyncIterable<ImportRow[]>;
  /** The key of a row, by its number: the same whenever the row is sent. */
  keyOf(row: number): string;
  sender: Sender;
  report: ErrorReport;
  /** Undefined where the rows come only once. */
  journal: Journal | undefined;
  /** Changed as rows are done. */
  counts: ImportCounts;
  /** Whether a row that was added before was added by an earlier import, rather than by this one before it was stopped. */
  isFirstRun: boolean;
  /** Rows under way at a time. */
  concurrency: number;
  /** Aborted when no further row is to be sent. */
  stopping: AbortController;
};

/**
 * Sends the rows that are not done yet. Resolves when none is under way any more: at the end of the rows, or soon after
 * `stopping` was aborted. Rejects, then too, with what made it impossible to go on.
 */
export async function runImport(parts: RunParts): Promise<void> {
  const { rows, journal, stopping, concurrency } = parts;
  const failures: unknown[] = [];
  let underWay = 0;
  let goOn: (() => void) | undefined;

  async function send(row: ImportRow, draft: Draft): Promise<void> {
    try {
      await settle(parts, row, draft);
    } catch (error) {
      failures.push(error);
      stopping.abort();
    }
    underWay--;
    goOn?.();
  }

  /** Waits for rows under way, as long as there are any. */
  const whileBusy = async (isBusy: () => boolean) => {
    while (underWay > 0 && isBusy()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      goOn = resolve;
      await promise;
    }
  };

  // Each entry of the journal lists the rows that ran ahead of one that is slow.
  const isFarAhead = (row: number) =>
    journal !== undefined && row - journal.upTo() > imports.requests.ahead * concurrency;

  try {
    for await (const some of rows) {
      for (const row of some) {
        if (journal?.isDone(row.number)) continue;
        if (isFarAhead(row.number)) await whileBusy(() => isFarAhead(row.number) && !stopping.signal.aborted);
        if (stopping.signal.aborted) break;
        if ('problem' in row.row) {
          failed(parts, row, row.row.problem);
          continue;
        }
        underWay++;
        void send(row, row.row.draft);
        if (underWay >= concurrency) await whileBusy(() => underWay >= concurrency);
      }
      if (stopping.signal.aborted) break;
    }
  } finally {
    await whileBusy(() => true);
  }
  if (failures.length > 0) throw failures[0];
}

async function settle(parts: RunParts, row: ImportRow, draft: Draft): Promise<void> {
  const { sender, keyOf, counts, isFirstRun, journal } = parts;
  const sent = await sender.send(keyOf(row.number), plantJson(draft));
  switch (sent.was) {
    case 'left':
      return;
    case 'refused':
      return failed(parts, row, sent.error);
    case 'added':
      if (sent.before && isFirstRun) counts.addedBefore++;
      else counts.added++;
      journal?.done(row.number, { ...counts });
  }
}

/** The report first: the journal says how much of it counts. */
function failed(
  { report, journal, counts }: RunParts,
  { row, number, cells }: ImportRow,
  error: string,
): void {
  report.add(cells(), row.line, error);
  counts.failed++;
  counts.report = report.mark();
  journal?.done(number, { ...counts });
}
