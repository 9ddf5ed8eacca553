import { AppError } from '../../../errors.ts';
import type { PlainError } from '../../write-outcomes.ts';
import type { Announced } from '../deliveries/outbox.ts';
import { fromPlain, toPlain } from './failure.ts';
import type { Executed } from './writer.ts';

/** The writer thread's answer to a batch. */
export type WriterReply =
  | { outcomes: unknown[]; failures: { index: number; error: PlainError }[]; announced: Announced }
  | { error: PlainError };

export function replyTo(execute: () => Executed): WriterReply {
  try {
    const { outcomes, failures, announced } = execute();
    return {
      outcomes,
      failures: failures.map(({ index, error }) => ({ index, error: toPlain(error) })),
      announced,
    };
  } catch (error) {
    return {
      error: toPlain(error instanceof AppError ? error : new AppError(50000, undefined, { cause: error })),
    };
  }
}

export function settle(batch: PromiseWithResolvers<Executed>, reply: WriterReply): void {
  if ('error' in reply) batch.reject(fromPlain(reply.error));
  else {
    const failures = reply.failures.map(({ index, error }) => ({ index, error: fromPlain(error) }));
    batch.resolve({ ...reply, failures });
  }
}
