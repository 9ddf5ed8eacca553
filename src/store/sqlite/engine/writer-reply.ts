import { AppError } from '../../../errors.ts';
import type { PlainError } from '../../write-outcomes.ts';
import type { Announced } from '../deliveries/outbox.ts';
import { fromPlain, toPlain } from './failure.ts';
import type { Executed } from './writer.ts';

/** The writer thread's answer to a batch. `failures` are the outcomes that are errors, by index. */
export type WriterReply =
  | { outcomes: unknown[]; failures: { index: number; error: PlainError }[]; announced: Announced }
  | { error: PlainError };

export function replyTo(execute: () => Executed): WriterReply {
  try {
    const { outcomes, announced } = execute();
    const failures = outcomes.flatMap((error, index) =>
      error instanceof AppError ? { index, error: toPlain(error) } : [],
    );
    for (const { index } of failures) outcomes[index] = undefined;
    return { outcomes, failures, announced };
  } catch (error) {
    return {
      error: toPlain(error instanceof AppError ? error : new AppError(50000, undefined, { cause: error })),
    };
  }
}

export function settle(batch: PromiseWithResolvers<Executed>, reply: WriterReply): void {
  if ('error' in reply) batch.reject(fromPlain(reply.error));
  else {
    const { outcomes, failures, announced } = reply;
    for (const { index, error } of failures) outcomes[index] = fromPlain(error);
    batch.resolve({ outcomes, announced });
  }
}
