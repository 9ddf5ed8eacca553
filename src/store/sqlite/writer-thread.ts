import { parentPort, workerData } from 'node:worker_threads';
import { AppError, type ErrorCode } from '../../errors.ts';
import { createCheckpoint } from './checkpoint.ts';
import { openConnection } from './connection.ts';
import { extendedCode, StoreFailure } from './failure.ts';
import type { Announced } from './outbox.ts';
import { keepSizeRecord } from './size-record.ts';
import { type KnownFile, storeFiles } from './store-files.ts';
import { type Command, createWriter, type Executed, type WriterRules } from './writer.ts';

/**
 * The thread that writes, with a connection of its own: while one commit waits for the disk, the main thread
 * goes on reading and gathers the next batch.
 */

export type WriterOptions = { path: string; files: readonly KnownFile[]; rules: WriterRules };

/** What the thread answers to a batch of commands; errors as data, because their class does not travel. */
export type WriterReply =
  | { outcomes: unknown[]; failures: { index: number; error: PlainError }[]; announced: Announced }
  | { error: PlainError };

export type PlainError = {
  code: ErrorCode;
  message: string;
  headers: Record<string, string>;
  cause: PlainCause | undefined;
};

/** `isFinal` of a StoreFailure, `errcode` of an error of SQLite. */
export type PlainCause = {
  message: string;
  stack: string | undefined;
  isFinal: boolean | undefined;
  errcode: number | undefined;
};

if (parentPort) serve(parentPort, workerData);

function serve(port: NonNullable<typeof parentPort>, { path, files: known, rules }: WriterOptions): void {
  // The third is shared memory, which holds nothing that lasts: the main thread watches it.
  const files = storeFiles(known.slice(0, 2));
  const lost = files.loss();
  // Opening it now would make a new one.
  if (lost) throw lost;
  const db = openConnection(path);
  const execute = createWriter(db, rules, files);
  const checkpoint = createCheckpoint(db);
  const record = keepSizeRecord(path);
  record.note(files.latest());

  port.on('message', (message: Command[] | 'close') => {
    if (message === 'close') {
      record.end();
      db.close();
      port.close();
      return;
    }
    const answer = reply(() => execute(message));
    port.postMessage(answer);
    if ('error' in answer) return;
    record.note(files.latest());
    // Its failure ends the thread.
    if (checkpoint() && !files.loss(db)) record.note(files.latest(), true);
  });
}

function reply(execute: () => Executed): WriterReply {
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

function toPlain({ code, message, headers, cause }: AppError): PlainError {
  return {
    code,
    message,
    headers: { ...headers },
    cause: cause instanceof Error ? plainCause(cause) : undefined,
  };
}

function plainCause(cause: Error): PlainCause {
  const { message, stack } = cause;
  const isFinal = cause instanceof StoreFailure ? cause.isFinal : undefined;
  return { message, stack, isFinal, errcode: extendedCode(cause) };
}
