import type { AppError } from '../errors.ts';
import type { Span } from '../tracing/port.ts';

/**
 * A span for each traced request of a batch, of its wait in the queue and the commit: whoever looks at a trace sees
 * what that request waited for, and with how many others. One span for the batch would stand in one trace only.
 */

type Traced = { span: Span | undefined };

/** What became of a batch, as far as it is looked at here. */
type Result = PromiseSettledResult<{ failures: readonly { index: number; error: AppError }[] }>;

/** The transaction begins; until then they waited in the queue. */
export function beginCommit(batch: readonly Traced[]): void {
  for (const { span } of batch) span?.mark('the transaction begins');
}

export function endCommit(batch: readonly Traced[], result: Result): void {
  if (!batch.some(({ span }) => span !== undefined)) return;
  const failures = result.status === 'fulfilled' ? result.value.failures : [];
  const failed = new Map(failures.map(({ index, error }) => [index, error]));
  batch.forEach(({ span }, index) => {
    const error = result.status === 'rejected' ? result.reason : failed.get(index);
    span?.end({
      attributes: { 'plant_store.batch.size': batch.length },
      failure: error === undefined ? undefined : failureOf(error),
    });
  });
}

/** It waited until nobody was there any more. */
export function abandonCommit({ span }: Traced, error: AppError): void {
  span?.end({ failure: failureOf(error) });
}

function failureOf(error: unknown): { type: string } {
  return { type: error instanceof Error && 'code' in error ? String(error.code) : 'fault' };
}
