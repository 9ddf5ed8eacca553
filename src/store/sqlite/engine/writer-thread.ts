import type { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { LaneNews } from '../../../webhooks/delivery/port.ts';
import { type PlainError, unavailable } from '../../write-outcomes.ts';
import type { Announced } from '../deliveries/outbox.ts';
import { createCheckpoint } from './checkpoint.ts';
import { openConnection } from './connection.ts';
import { toPlain } from './failure.ts';
import { keepSizeRecord } from './size-record.ts';
import { type KnownFile, type StoreFiles, storeFiles } from './store-files.ts';
import { type Command, createWriter, type WriterParts } from './writer.ts';
import { replyTo, type WriterReply } from './writer-reply.ts';

/**
 * The writer thread, with a connection of its own: while it waits for the disk, the others continue to read and gather
 * the next batch. The main thread and the sender thread each send one batch at a time, so they take turns.
 */

export type WriterOptions = { path: string; files: readonly KnownFile[]; rules: WriterParts };

/** A batch of commands, a connection of the sender thread, or the end. */
export type WriterMessage = Command[] | { sender: MessagePort } | 'close';

/** Tells the main thread that a batch of the sender thread failed, or that one succeeded after a failure. */
export type WriterNews = { senderBatch: PlainError | undefined };

if (parentPort) serve(parentPort, workerData);

function serve(port: NonNullable<typeof parentPort>, { path, files: known, rules }: WriterOptions): void {
  // The third file is shared memory with nothing durable; the main thread watches it.
  const files = storeFiles(known.slice(0, 2));
  const lost = files.loss();
  // Opening the store now would create a new one.
  if (lost) throw lost;
  const db = openConnection(path);
  const execute = createWriter(db, rules, files);
  const checkpoint = createCheckpoint(db);
  const record = keepSizeRecord(path);
  const doubts = createDoubts(files, db);
  let sender: MessagePort | undefined;
  let hasFailed = false;
  record.note(files.latest());

  /** @param answer called before the work that follows a commit */
  function carryOut(commands: Command[], answer: (reply: WriterReply) => void): void {
    const reply = replyTo(() => execute(commands));
    doubts.note(reply);
    // Before the answer: the next start must notice the loss of what a client knows of.
    if (!('error' in reply)) record.note(files.latest());
    answer(reply);
    if ('error' in reply) return;
    // A failure ends the thread.
    if (checkpoint() && !files.loss(db)) record.note(files.latest(), true);
  }

  function answer(reply: WriterReply): void {
    // First, so that nothing is sent with outdated settings once the caller learns of success.
    if ('announced' in reply) tell(reply.announced);
    port.postMessage(reply);
  }

  function tell({ work, changed }: Announced): void {
    if (work.length + changed.length > 0) sender?.postMessage({ work, changed } satisfies LaneNews);
  }

  function report(error: PlainError | undefined): void {
    if (error || hasFailed) port.postMessage({ senderBatch: error } satisfies WriterNews);
    hasFailed = error !== undefined;
  }

  function connect(other: MessagePort): void {
    sender?.close();
    sender = other;
    other.on('message', (commands: Command[]) => {
      const refusal = doubts.refusal();
      if (refusal) other.postMessage({ error: refusal } satisfies WriterReply);
      else
        carryOut(commands, (reply) => {
          other.postMessage(reply);
          report('error' in reply ? reply.error : undefined);
        });
    });
  }

  port.on('message', (message: WriterMessage) => {
    if (message === 'close') {
      sender?.close();
      record.end();
      db.close();
      port.close();
    } else if ('sender' in message) connect(message.sender);
    else carryOut(message, answer);
  });
}

/**
 * Checks whether writing is safe. The main thread does so for its own batches: after a commit with an unknown outcome
 * the process exits, and while files are missing it looks for them.
 */
function createDoubts(files: StoreFiles, db: DatabaseSync) {
  let isOver = false;
  let isAway = false;
  return {
    note(reply: WriterReply): void {
      if (!('error' in reply)) return;
      const { code, cause } = reply.error;
      isAway ||= cause?.isFinal === false;
      isOver ||= cause?.isFinal === true || (code === 50301 && cause?.isFinal === undefined);
    },
    refusal(): PlainError | undefined {
      if (isOver) return toPlain(unavailable(undefined));
      const lost = isAway ? files.loss(db) : undefined;
      isAway = lost !== undefined;
      return lost && toPlain(unavailable(lost));
    },
  };
}
