import { setTimeout as pause } from 'node:timers/promises';
import { AppError, type ErrorCode, retryLater } from '../errors.ts';
import type { Caller } from '../idempotency/port.ts';
import { writes } from '../limits.ts';
import type { EndedBatch } from '../observability/port.ts';
import type { Clock } from '../runtime.ts';
import type { Span } from '../tracing/port.ts';
import { abandonCommit, beginCommit, endCommit } from './commit-spans.ts';
import { outcomeUnknown, unavailable } from './failures.ts';

/**
 * Group commit: commands that arrive while a commit is under way become one transaction, the next.
 * The queue is bounded by count, bytes and age; past a bound the answer is 50300 at the door.
 */
export type GroupCommit<Command> = {
  /**
   * Resolves with the command's own outcome once its transaction is on disk. The command of a caller who left while
   * it waited is dropped, not done.
   */
  submit(command: Command, bytes: number, door?: Door, caller?: Waiter): Promise<unknown>;
  /** Whether a command that is submitted now is refused: to know it before the request is read costs far less. */
  isFull(): boolean;
  /** How many commands wait for a commit, and how long the first of them has waited; 0 when there is none. */
  waiting(): { commands: number; ageMs: number };
  /** Commits what is queued; later commands are refused with 50303. */
  close(): Promise<void>;
};

/** What a command without text of any length is counted as. */
export const COMMAND_BYTES = 512;

/** What of a caller counts while they wait. */
type Waiter = Pick<Caller, 'hasLeft' | 'span'>;

/** `open`: for commands whose number is bounded elsewhere and that must not be refused because of others. */
export type Door = 'bounded' | 'open';

/**
 * Runs the commands as one transaction. Rejects with AppError 50302 when nothing was done and with 50301
 * when the outcome is unknown. A store with `Patience` asks `mayBegin` before it does anything, and does nothing when
 * the answer is no: those who wait have been told already.
 */
type Commit<Command> = (commands: Command[], mayBegin: () => boolean) => Promise<BatchResult>;

export type BatchResult = {
  /** One outcome for each command, in order. */
  outcomes: unknown[];
  /** Commands that failed alone, by index; their neighbours are committed. */
  failures: { index: number; error: AppError }[];
};

/**
 * A pause behind a batch of many commands, for a store where a batch costs much by itself: the next one is larger then,
 * and all are done sooner. Behind few commands there is none: nobody would come in it.
 */
export type Gathering = { many: number; pauseMs: number };

/**
 * How long a command waits for a store that others may hold up: until its transaction begins, else nothing is done; and
 * until it is answered, else its outcome is unknown. This is looked at every `checkMs`.
 */
export type Patience = { beginMs: number; answerMs: number; checkMs: number };

export type BatchRules<Command> = {
  gathering?: Gathering;
  patience?: Patience;
  /** Whether a command goes into the transaction of the one before it; any two when left out. */
  goTogether?(before: Command, next: Command): boolean;
  batchEnded?: ((batch: EndedBatch) => void) | undefined;
};

/** @param clock that never goes back, or what waits would seem to have come later than it did */
export function groupCommit<Command>(
  commit: Commit<Command>,
  clock: Clock,
  { gathering, patience, goTogether = () => true, batchEnded }: BatchRules<Command> = {},
): GroupCommit<Command> {
  let queue: Waiting<Command>[] = [];
  let queuedBytes = 0;
  let underWay: Promise<void> | undefined;
  let scheduled = false;
  let closed = false;

  function schedule(): void {
    if (scheduled || underWay) return;
    scheduled = true;
    // After the requests that this turn of the event loop still brings: they share the commit.
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
    beginCommit(batch);
    const measured = batchEnded && measure(batch, clock.now(), batchEnded);
    const watch = patience && watched(batch, patience);
    const commands = batch.map(({ command }) => command);
    const [result] = await Promise.allSettled([commit(commands, watch?.mayBegin ?? (() => true))]);
    watch?.stop();
    measured?.(result);
    const pauses = gathering !== undefined && batch.length >= gathering.many && !closed;
    // Before the answers to this batch are sent: meanwhile the next one is written and waits for the disk.
    if (!pauses) commitNext();
    endCommit(batch, result);
    if (result.status === 'fulfilled') settle(batch, result.value);
    else rejectAll(batch, result.reason);
    if (!pauses) return;
    await pause(gathering.pauseMs);
    commitNext();
  }

  /** Answers those who have waited too long, for the batch under way or for the next one. */
  function watched(batch: readonly Waiting<Command>[], { beginMs, answerMs, checkMs }: Patience) {
    let stage: 'waits' | 'begun' | 'given up' = 'waits';
    const timer = setInterval(() => {
      const now = clock.now();
      dropStale();
      if (stage === 'begun') {
        const late = batch.filter(({ at }) => now - at > answerMs);
        rejectAll(late, outcomeUnknown('The store did not answer in time', undefined));
      } else if (ageOfFirst(batch, now) > beginMs) {
        // As a whole: what began for some of them would be done for all.
        stage = 'given up';
        rejectAll(batch, unavailable(undefined));
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

  /** What waits too long is not done: for a caller who is not there any more, since those behind it wait, too. */
  function dropStale(): void {
    const now = clock.now();
    drop(
      // Whoever has only said that nothing more will be sent reads it.
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
    for (const waiting of dropped) abandonCommit(waiting, error);
    rejectAll(dropped, error);
  }

  function takeBatch(): Waiting<Command>[] {
    const batch = queue;
    const most = Math.min(queue.length, writes.batchCommands);
    let length = 1;
    while (length < most && areTogether(queue[length - 1], queue[length])) length++;
    putQueue(batch.splice(length));
    return batch;
  }

  function areTogether(before: Waiting<Command> | undefined, next: Waiting<Command> | undefined): boolean {
    return before !== undefined && next !== undefined && goTogether(before.command, next.command);
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
    submit(command, bytes, door = 'bounded', caller) {
      if (closed) return Promise.reject(retryLater(50303, 'The service is shutting down; nothing was done.'));
      const at = clock.now();
      if (door === 'bounded' && isFullAt(at)) {
        return Promise.reject(
          retryLater(50300, 'Too many writes are waiting; nothing was done. Retry in a moment.'),
        );
      }
      queuedBytes += bytes;
      schedule();
      const span = caller?.span?.begin('commit');
      return new Promise((resolve, reject) =>
        queue.push({ command, bytes, at, caller, span, resolve, reject }),
      );
    },
    isFull: () => isFullAt(clock.now()),
    waiting: () => ({ commands: queue.length, ageMs: ageOfFirst(queue, clock.now()) }),
    async close() {
      closed = true;
      while (underWay || queue.length > 0) {
        await (underWay ?? new Promise((resolve) => setImmediate(resolve)));
      }
    },
  };
}

/** A command, what it takes of the queue's bytes, since when it waits, and who waits for its outcome. */
type Waiting<Command> = {
  command: Command;
  bytes: number;
  at: number;
  caller: Waiter | undefined;
  /** Of its wait, if the request of the caller is traced. */
  span: Span | undefined;
  resolve(outcome: unknown): void;
  reject(error: unknown): void;
};

function ageOfFirst([first]: readonly Waiting<unknown>[], now: number): number {
  return first ? now - first.at : 0;
}

/** Called when a batch begins; what it returns, when the batch has ended. */
function measure(
  batch: readonly Waiting<unknown>[],
  now: number,
  batchEnded: (batch: EndedBatch) => void,
): (result: PromiseSettledResult<BatchResult>) => void {
  const waitMs = ageOfFirst(batch, now);
  const begin = performance.now();
  return (result) => {
    const commitMs = performance.now() - begin;
    batchEnded({ commands: batch.length, waitMs, commitMs, failures: failuresOf(result, batch.length) });
  };
}

function failuresOf(result: PromiseSettledResult<BatchResult>, commands: number): ErrorCode[] {
  if (result.status === 'fulfilled') return result.value.failures.map(({ error }) => error.code);
  return Array(commands).fill(result.reason instanceof AppError ? result.reason.code : 50000);
}

function rejectAll(waiting: readonly Waiting<unknown>[], error: unknown): void {
  for (const { reject } of waiting) reject(error);
}

function settle(batch: Waiting<unknown>[], { outcomes, failures }: BatchResult): void {
  const failed = new Map(failures.map(({ index, error }) => [index, error]));
  batch.forEach(({ resolve, reject }, index) => {
    const error = failed.get(index);
    if (error) reject(error);
    else resolve(outcomes[index]);
  });
}
