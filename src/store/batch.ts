import { setTimeout as pause } from 'node:timers/promises';
import { AppError, type ErrorCode, retryLater } from '../errors.ts';
import type { Caller } from '../idempotency/port.ts';
import { writes } from '../limits.ts';
import type { EndedBatch } from '../observability/port.ts';
import type { Span } from '../tracing/port.ts';
import { asAppError, outcomeUnknown, unavailable } from './write-outcomes.ts';

/** The size counted for a command without texts of variable length. */
export const COMMAND_BYTES = 512;

/** The size counted for a command with these texts: two bytes per UTF-16 code unit. */
export function bytesWith(...texts: readonly (string | undefined)[]): number {
  return texts.reduce((sum, text = '') => sum + 2 * text.length, COMMAND_BYTES);
}

type Waiter = Pick<Caller, 'hasLeft' | 'span'>;

/**
 * Runs the commands as one transaction. Resolves with one outcome for each command, in order: an AppError for one that
 * failed alone, while the rest of the batch is committed. Rejects with AppError 50302 when nothing was done and with
 * 50301 when the outcome is unknown. A store with `Patience` asks `mayBegin` first and does nothing if the answer is no:
 * the callers have been answered already.
 */
type Commit<Command> = (commands: Command[], mayBegin: () => boolean) => Promise<readonly unknown[]>;

/** After `many` commands a pause lets the next batch grow, for a store where each batch is expensive. */
type Gathering = { many: number; pauseMs: number };

/**
 * Deadlines of a command in a store that others may block: `beginMs` until its transaction begins, else nothing is
 * done; `answerMs` until the answer, else its outcome is unknown.
 */
export type Patience = { beginMs: number; answerMs: number; checkMs: number };

export type BatchRules<Command> = {
  /** For commands whose number is limited elsewhere: none is refused. */
  isUnbounded?: boolean;
  gathering?: Gathering;
  patience?: Patience;
  /** Whether a command may share a transaction with the one before it; by default any may. */
  goTogether?(before: Command, next: Command): boolean;
  batchEnded?: ((batch: EndedBatch) => void) | undefined;
};

/**
 * Group commit: commands that arrive during a commit become one transaction, the next. The queue is limited by count,
 * bytes and age; when it is full, `submit` fails with 50300.
 * @param elapsed the monotonic time, in milliseconds
 */
export function groupCommit<Command>(
  commit: Commit<Command>,
  { isUnbounded = false, gathering, patience, goTogether = () => true, batchEnded }: BatchRules<Command> = {},
  elapsed = () => performance.now(),
) {
  let queue: Waiting<Command>[] = [];
  let queuedBytes = 0;
  /** The codes of commands that were answered before the batch under way ends. */
  let early: ErrorCode[] = [];
  let underWay: Promise<void> | undefined;
  let scheduled = false;
  let closed = false;
  /** Commands in the next batch. One create may cause thousands of deliveries, so their number alone is no bound. */
  let most: number = writes.batchCommands;

  function schedule(): void {
    if (scheduled || underWay) return;
    scheduled = true;
    // After the other requests of this turn of the event loop, so that they share the commit.
    setImmediate(() => {
      scheduled = false;
      commitNext();
    });
  }

  function commitNext(): void {
    dropStale();
    underWay = queue.length > 0 ? commitBatch(takeBatch()) : undefined;
  }

  async function commitBatch(batch: Waiting<Command>[]): Promise<void> {
    for (const { span } of batch) span?.mark('the transaction begins');
    const begin = elapsed();
    const waitMs = ageOfFirst(batch, begin);
    const watch = patience && watched(batch, patience);
    const commands = batch.map(({ command }) => command);
    const outcomes = await commit(commands, watch?.mayBegin ?? (() => true)).catch((error: unknown) => {
      const failure = asAppError(error);
      return commands.map(() => failure);
    });
    watch?.stop();
    const commitMs = elapsed() - begin;
    if (batch.some(({ isAnswered }) => isAnswered)) most = Math.ceil(batch.length / 2);
    else if (commitMs < writes.quickBatchMs) most = Math.min(writes.batchCommands, 2 * most);
    batchEnded?.({
      commands: batch.length,
      waitMs,
      commitMs,
      failures: [
        ...early,
        ...outcomes.flatMap((outcome, i) =>
          outcome instanceof AppError && !batch[i]?.isAnswered ? outcome.code : [],
        ),
      ],
    });
    early = [];
    const pauses = gathering !== undefined && batch.length >= gathering.many && !closed;
    // Before this batch is answered, so that the next one is already being written meanwhile.
    if (!pauses) commitNext();
    settle(batch, outcomes);
    if (!pauses) return;
    await pause(gathering.pauseMs);
    commitNext();
  }

  /** Answers callers who have waited too long, in the current batch and in the queue. */
  function watched(batch: readonly Waiting<Command>[], { beginMs, answerMs, checkMs }: Patience) {
    let stage: 'waits' | 'begun' | 'given up' = 'waits';
    const timer = setInterval(() => {
      const now = elapsed();
      dropStale();
      if (stage === 'begun') {
        const late = batch.filter(({ at }) => now - at > answerMs);
        refuse(late, outcomeUnknown('The store did not answer in time', undefined));
      } else if (ageOfFirst(batch, now) > beginMs) {
        // All of them: the transaction cannot begin for some only.
        stage = 'given up';
        refuse(batch, unavailable(undefined));
      }
    }, checkMs);
    return {
      mayBegin() {
        if (stage === 'waits') stage = 'begun';
        return stage === 'begun';
      },
      stop: () => clearInterval(timer),
    };
  }

  /** Drops commands that waited too long and whose caller has left, since they delay others. */
  function dropStale(): void {
    const now = elapsed();
    drop(
      // A client that only closed its sending side still reads the answer, and does not count as gone.
      ({ at, caller }) => now - at > writes.desertedMs && caller?.hasLeft() === true,
      () => retryLater(50300, 'The write waited too long; nothing was done.'),
    );
    if (patience)
      drop(
        ({ at }) => now - at > patience.beginMs,
        () => unavailable(undefined),
      );
  }

  function drop(isDropped: (waiting: Waiting<Command>) => boolean, why: () => AppError): void {
    if (!queue.some(isDropped)) return;
    const dropped = queue.filter(isDropped);
    putQueue(queue.filter((waiting) => !isDropped(waiting)));
    const error = why();
    for (const { span } of dropped) span?.end({ failure: failureOf(error) });
    refuse(dropped, error);
  }

  function refuse(waiting: readonly Waiting<Command>[], error: AppError): void {
    for (const one of waiting) {
      if (one.isAnswered) continue;
      one.isAnswered = true;
      early.push(error.code);
      one.reject(error);
    }
  }

  function takeBatch(): Waiting<Command>[] {
    const end = queue.findIndex(({ command }, i) => {
      const before = queue[i - 1];
      return i === most || (before && !goTogether(before.command, command));
    });
    const batch = queue.splice(0, end === -1 ? queue.length : end);
    putQueue(queue);
    return batch;
  }

  function putQueue(rest: Waiting<Command>[]): void {
    queue = rest;
    queuedBytes = rest.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  function isFullAt(now: number): boolean {
    return (
      queue.length >= writes.queuedCommands ||
      queuedBytes >= writes.queuedBytes ||
      ageOfFirst(queue, now) > writes.queueAgeMs
    );
  }

  return {
    /**
     * Resolves with the command's own outcome once its transaction is on disk. Dropped if the caller leaves while it
     * waits.
     */
    submit(command: Command, bytes: number, caller?: Waiter): Promise<unknown> {
      if (closed) return Promise.reject(retryLater(50303, 'The service is shutting down; nothing was done.'));
      const at = elapsed();
      if (!isUnbounded && isFullAt(at)) {
        return Promise.reject(
          retryLater(50300, 'Too many writes are waiting; nothing was done. Retry in a moment.'),
        );
      }
      queuedBytes += bytes;
      schedule();
      const span = caller?.span?.begin('commit');
      return new Promise((resolve, reject) =>
        queue.push({ command, bytes, at, caller, span, isAnswered: false, resolve, reject }),
      );
    },
    /** Whether `submit` would refuse a command now: checking that before the request is read costs far less. */
    isFull: () => isFullAt(elapsed()),
    /** The number of commands waiting for a commit, and the age of the first; 0 when none waits. */
    waiting: () => ({ commands: queue.length, ageMs: ageOfFirst(queue, elapsed()) }),
    /** Commits the queued commands; later ones are refused with 50303. */
    async close() {
      closed = true;
      while (underWay || queue.length > 0) {
        await (underWay ?? new Promise((resolve) => setImmediate(resolve)));
      }
    },
  };
}

type Waiting<Command> = {
  command: Command;
  bytes: number;
  at: number;
  caller: Waiter | undefined;
  /** The wait and the commit, if the caller's request is traced: one span for the batch would be in one trace only. */
  span: Span | undefined;
  /** Whether it was refused before its batch ended. */
  isAnswered: boolean;
  resolve(outcome: unknown): void;
  reject(error: unknown): void;
};

function ageOfFirst([first]: readonly Waiting<unknown>[], now: number): number {
  return first ? now - first.at : 0;
}

/** Ends each command's span, and answers it. */
function settle(batch: readonly Waiting<unknown>[], outcomes: readonly unknown[]): void {
  batch.forEach(({ span, resolve, reject }, index) => {
    const outcome = outcomes[index];
    const failure = outcome instanceof AppError ? failureOf(outcome) : undefined;
    span?.end({ attributes: { 'plant_store.batch.size': batch.length }, failure });
    if (failure) reject(outcome);
    else resolve(outcome);
  });
}

function failureOf({ code }: AppError): { type: string } {
  return { type: String(code) };
}
