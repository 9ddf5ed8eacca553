import type { Draft } from '../../import/rows.ts';
import { plantJson } from '../../plants/plant.ts';
import type { Clock } from '../../runtime.ts';
import { Failure } from '../failure.ts';
import { imports } from '../limits.ts';
import type { ErrorReport } from './errors.ts';
import type { ImportRow } from './rows.ts';
import type { Sender } from './sender.ts';

/** Rows by what became of them. */
export type ImportCounts = {
  added: number;
  /** Rows that an earlier run with the same file had added within a day. */
  addedBefore: number;
  /** Rows that are in the error report. */
  failed: number;
};

export type RunParts = {
  rows: AsyncIterable<ImportRow[]>;
  /** The key of a row is this and its number: the same whenever the row is sent. */
  keyBase: string;
  sender: Pick<Sender, 'send'>;
  report: Pick<ErrorReport, 'add'>;
  /** Changed as rows are done. */
  counts: ImportCounts;
  /** Rows under way at a time. */
  concurrency: number;
  /** Aborted when no further row is to be sent. */
  stopping: AbortController;
  clock: Clock;
  /** From when on the service may have forgotten rows that an earlier run has added; infinite without such a run. */
  forgottenAt: number | undefined;
};

/**
 * Sends the rows. Resolves when none is under way any more: at the end of the rows, or soon after `stopping` was
 * aborted. Rejects, then too, with what made it impossible to go on.
 */
export async function runImport(parts: RunParts): Promise<void> {
  const { stopping, concurrency } = parts;
  const settle = createSettler(parts);
  const rows = eachOf(parts.rows);

  async function work(): Promise<void> {
    for await (const row of rows) {
      if (stopping.signal.aborted) return;
      // Before the loop waits for the rows to end, which may come from a pipe that is silent.
      await settle(row).catch((error) => {
        stopping.abort();
        throw error;
      });
    }
  }

  const ends = await Promise.allSettled(Array.from({ length: concurrency }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** Its callers may share it: each row goes to one of them. */
async function* eachOf<T>(groups: AsyncIterable<T[]>): AsyncGenerator<T> {
  for await (const group of groups) yield* group;
}

function createSettler({ sender, report, counts, keyBase, clock, forgottenAt }: RunParts) {
  /** Rows since the last one that had been added before. */
  let newInARow = 0;

  /**
   * An earlier run had at most `requests.most` rows under way when it ended, so after as many new ones in a row, no
   * other row of it follows.
   */
  const mayBeForgotten = ({ id }: Draft) =>
    forgottenAt !== undefined &&
    id === undefined &&
    newInARow < imports.requests.most &&
    clock.now() >= forgottenAt;

  return async (importRow: ImportRow): Promise<void> => {
    const { row, number } = importRow;
    if ('problem' in row) return fail(row.problem);
    if (mayBeForgotten(row.draft)) throw new Failure(FORGOTTEN);
    const sent = await sender.send(`${keyBase}-${number}`, plantJson(row.draft));
    if (sent.was === 'refused') return fail(sent.error);
    if (sent.was === 'left') return;
    newInARow = sent.before ? 0 : newInARow + 1;
    counts[sent.before ? 'addedBefore' : 'added']++;

    function fail(error: string): void {
      report.add(importRow, error);
      counts.failed++;
    }
  };
}

/** What to do when the keys of an import are too old. */
export const FORGOTTEN =
  'The import began more than 24 hours ago, so the service no longer knows which rows without an id it has added. Export your plants, remove the rows that are among them from the file, and import the rest with --again.';
