import type { DatabaseSync } from 'node:sqlite';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { AppError } from '../../../errors.ts';
import { threadEnvironment } from '../../../runtime.ts';
import { fromPlain, StoreFailure } from './failure.ts';
import { type Command, createWriter, type WriterParts } from './writer.ts';
import { sentBatches, type WriterReply } from './writer-reply.ts';
import type { WriterMessage, WriterNews, WriterOptions } from './writer-thread.ts';

type WriterEvents = {
  /** The thread died while idle. */
  died(failure: StoreFailure): void;
  /** A batch of the sender thread was committed, or failed. */
  senderBatchEnded(error: AppError | undefined): void;
};

export type Writer = ReturnType<typeof inlineWriter>;

/** Executes commands in this thread, for a short-lived program. */
export function inlineWriter(db: DatabaseSync, rules: WriterParts) {
  const execute = createWriter(db, rules);
  return { execute: async (commands: Command[]) => execute(commands), close: async () => {} };
}

/**
 * Executes commands in a thread of its own. Does not wait for it to start: reads do not need it, and the first commands
 * wait for it.
 */
export function threadWriter(options: WriterOptions, events: WriterEvents) {
  const thread = new Worker(new URL('./writer-thread.ts', import.meta.url), {
    workerData: options,
    env: threadEnvironment(),
  });
  const post = (message: WriterMessage, transferred: MessagePort[] = []) =>
    thread.postMessage(message, transferred);
  const batches = sentBatches(post);
  let hasDied = false;
  const exited = new Promise<void>((resolve) => thread.once('exit', () => resolve()));

  thread.on('message', (reply: WriterReply | WriterNews) => {
    if ('senderBatch' in reply) events.senderBatchEnded(reply.senderBatch && fromPlain(reply.senderBatch));
    else batches.answered(reply);
  });
  thread.on('error', (error: Error) => {
    hasDied = true;
    if (!batches.end(error)) events.died(new StoreFailure(error.message, { isFinal: true, cause: error }));
  });

  return {
    execute: batches.execute,
    /** Connects another thread, and closes its previous connection. */
    connect(): MessagePort {
      const { port1, port2 } = new MessageChannel();
      post({ sender: port1 }, [port1]);
      return port2;
    },
    async close(): Promise<void> {
      if (hasDied) return;
      post('close');
      await exited;
    },
  };
}
