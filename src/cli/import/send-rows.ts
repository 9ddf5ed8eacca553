import type { Draft } from '../../import/rows.ts';
import { plantJson } from '../../plants/plant.ts';
import type { Clock } from '../../runtime.ts';
import { Failure } from '../failure.ts';
import { imports } from '../limits.ts';
import type { ErrorReport } from './errors.ts';
import type { ImportRow } from './rows.ts';
import type { Sender } from './sender.ts';

export type ImportCounts = {
  added: number;
  /** Rows that an earlier run of the same file added within a day. */
  addedBefore: number;
  failed: number;
};

export function rowsDone({ added, addedBefore, failed }: ImportCounts): number {
  return added + addedBefore + failed;
}

export type SendParts = {
  rows: AsyncIterable<ImportRow[]>;
  /** A row's key is this and its position among the rows, from 1: the same each time the row is sent. */
  keyBase: string;
  sender: Pick<Sender, 'send'>;
  report: Pick<ErrorReport, 'add'>;
  counts: ImportCounts;
  concurrency: number;
  /** Aborted to send no more rows. */
  stopping: AbortController;
  clock: Clock;
  /** When the service may start to forget rows that an earlier run added; undefined without such a run. */
  forgottenAt?: number | undefined;
};

/**
 * Sends the rows. Resolves when none is pending: at the end of the rows, or soon after `stopping` is aborted. Rejects,
 * also then, with what made it impossible to continue.
 */
export async function sendRows(parts: SendParts): Promise<void> {
  const { stopping, concurrency } = parts;
  const settle = createSettler(parts);
  const rows = keyed(parts);

  async function sendSome(): Promise<void> {
    for await (const [key, row] of rows) {
      if (stopping.signal.aborted) return;
      // Stop here, before the loop waits for more rows, perhaps from a silent pipe.
      await settle(key, row).catch((error) => {
        stopping.abort();
        throw error;
      });
    }
  }

  const ends = await Promise.allSettled(Array.from({ length: concurrency }, sendSome));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** Callers may share the generator: each row goes to one of them. */
async function* keyed({ rows, keyBase }: SendParts): AsyncGenerator<[key: string, row: ImportRow]> {
  let number = 0;
  for await (const group of rows) for (const row of group) yield [`${keyBase}-${++number}`, row];
}

function createSettler({ sender, report, counts, clock, forgottenAt }: SendParts) {
  /** Rows since the last one that an earlier run had added. */
  let newInARow = 0;

  /** An earlier run had at most `requests.most` rows pending, so after that many new rows none of its rows follow. */
  const mayBeForgotten = ({ id }: Draft) =>
    forgottenAt !== undefined &&
    id === undefined &&
    newInARow < imports.requests.most &&
    clock.now() >= forgottenAt;

  return async (key: string, importRow: ImportRow): Promise<void> => {
    const { row } = importRow;
    if ('problem' in row) return fail(row.problem);
    if (mayBeForgotten(row.draft)) throw new Failure(FORGOTTEN);
    const sent = await sender.send(key, plantJson(row.draft));
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

export const FORGOTTEN =
  'The import started more than 24 hours ago, so the service no longer knows which rows without an id it added. Export your plants, remove those rows from the file, and import the rest with --again.';
