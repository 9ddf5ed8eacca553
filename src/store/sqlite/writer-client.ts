import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { AppError } from '../../errors.ts';
import { threadEnvironment } from '../../thread-environment.ts';
import { outcomeUnknown, unavailable } from '../failures.ts';
import { COMMIT_FAILED, StoreFailure } from './failure.ts';
import { type Command, createWriter, type Executed, type WriterRules } from './writer.ts';
import type { PlainCause, PlainError, WriterOptions, WriterReply } from './writer-thread.ts';

/** Where commands are carried out: in a thread of its own, or in place for a program that ends soon. */
export type Writer = {
  execute(commands: Command[]): Promise<Executed>;
  close(): Promise<void>;
};

export function inlineWriter(db: DatabaseSync, rules: WriterRules): Writer {
  const execute = createWriter(db, rules);
  return { execute: async (commands) => execute(commands), close: async () => {} };
}

/**
 * Does not wait for the thread to come up: reads need it not, and the first commands wait for it.
 *
 * @param onDeath called when the thread ends by a fault while it has nothing to do
 */
export function threadWriter(options: WriterOptions, onDeath: (failure: StoreFailure) => void): Writer {
  const thread = new Worker(new URL('./writer-thread.ts', import.meta.url), {
    workerData: options,
    env: threadEnvironment(),
  });
  let waiting: PromiseWithResolvers<Executed> | undefined;
  let ended: AppError | undefined;
  const exited = new Promise<void>((resolve) => thread.once('exit', () => resolve()));

  thread.on('message', (reply: WriterReply) => {
    const batch = waiting;
    waiting = undefined;
    if ('error' in reply) batch?.reject(fromPlain(reply.error));
    else batch?.resolve({ ...reply, failures: reply.failures.map(fromPlainFailure) });
  });
  thread.on('error', (error: Error) => {
    ended = unavailable(error);
    // In the middle of a batch nobody knows whether its commit reached the disk.
    if (waiting) waiting.reject(outcomeUnknown(COMMIT_FAILED, error));
    else onDeath(new StoreFailure(error.message, { isFinal: true, cause: error }));
  });

  return {
    execute(commands) {
      if (ended) return Promise.reject(ended);
      waiting = Promise.withResolvers();
      thread.postMessage(commands);
      return waiting.promise;
    },
    async close() {
      if (ended) return;
      thread.postMessage('close');
      await exited;
    },
  };
}

function fromPlainFailure({ index, error }: { index: number; error: PlainError }) {
  return { index, error: fromPlain(error) };
}

function fromPlain({ code, message, headers, cause }: PlainError): AppError {
  return new AppError(code, message, { headers, cause: cause && causeOf(cause) });
}

function causeOf({ message, stack, isFinal, errcode }: PlainCause): Error {
  const cause = isFinal === undefined ? new Error(message) : new StoreFailure(message, { isFinal });
  // That of where it was thrown, in the other thread.
  if (stack !== undefined) cause.stack = stack;
  return errcode === undefined ? cause : Object.assign(cause, { errcode });
}
