import { AppError } from '../../../errors.ts';
import { asAppError, outcomeUnknown, type PlainError, unavailable } from '../../write-outcomes.ts';
import type { Announced } from '../deliveries/outbox.ts';
import { COMMIT_FAILED, fromPlain, toPlain } from './failure.ts';
import type { Command, Executed } from './writer.ts';

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
    return { error: toPlain(asAppError(error)) };
  }
}

/** Sends batches to the writer thread, one at a time. */
export function sentBatches(send: (commands: Command[]) => void) {
  let waiting: PromiseWithResolvers<Executed> | undefined;
  let ended: AppError | undefined;

  return {
    execute(commands: Command[]): Promise<Executed> {
      if (ended) return Promise.reject(ended);
      waiting = Promise.withResolvers();
      send(commands);
      return waiting.promise;
    },
    answered(reply: WriterReply): void {
      if ('error' in reply) waiting?.reject(fromPlain(reply.error));
      else {
        const { outcomes, failures, announced } = reply;
        for (const { index, error } of failures) outcomes[index] = fromPlain(error);
        waiting?.resolve({ outcomes, announced });
      }
      waiting = undefined;
    },
    /** Call it when the thread is gone. Returns whether it had a batch: whether its commit is on disk is unknown. */
    end(cause?: Error): boolean {
      ended = unavailable(cause);
      waiting?.reject(outcomeUnknown(COMMIT_FAILED, cause));
      return waiting !== undefined;
    },
  };
}
