import type { AppError } from '../errors.ts';
import type { Span } from '../tracing/port.ts';

/**
 * Each traced request gets its own span for wait and commit: one span for the whole batch would appear in one trace
 * only.
 */

type Traced = { span: Span | undefined };

type Result = PromiseSettledResult<{ failures: readonly { index: number; error: AppError }[] }>;

/** Marks the end of the wait in the queue. */
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

/** Ends the span of a command that was dropped. */
export function abandonCommit({ span }: Traced, error: AppError): void {
  span?.end({ failure: failureOf(error) });
}

function failureOf(error: unknown): { type: string } {
  return { type: error instanceof Error && 'code' in error ? String(error.code) : 'fault' };
}
