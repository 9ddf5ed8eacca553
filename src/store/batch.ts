import { setTimeout as pause } from 'node:timers/promises';
import { AppError, type ErrorCode } from '../errors.ts';
import type { Caller } from '../idempotency.ts';
import { http, writes } from '../limits.ts';
import type { EndedBatch } from '../measures.ts';
import type { Clock } from '../runtime.ts';
import type { Span } from '../tracer.ts';
import { abandonCommit, beginCommit, endCommit } from './commit-spans.ts';

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

/** What of a caller counts while they wait. */
type Waiter = Pick<Caller, 'hasLeft' | 'span'>;

/** `open`: for commands whose number is bounded elsewhere and that must not be refused because of others. */
export type Door = 'bounded' | 'open';

/**
 * Runs the commands as one transaction. Rejects with AppError 50302 when nothing was done and with 50301
 * when the outcome is unknown.
 */
type Commit<Command> = (commands: Command[]) => Promise<BatchResult>;

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

const NO_GATHERING: Gathering = { many: Number.POSITIVE_INFINITY, pauseMs: 0 };

/** @param clock that never goes back, or what waits would seem to have come later than it did */
export function groupCommit<Command>(
  commit: Commit<Command>,
  clock: Clock,
  gathering: Gathering = NO_GATHERING,
  batchEnded?: (batch: EndedBatch) => void,
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
    dropDeserted();
    underWay = queue.length > 0 ? commitBatch(takeBatch()) : undefined;
  }

  async function commitBatch(batch: Waiting<Command>[]): Promise<void> {
    beginCommit(batch);
    const measured = batchEnded && measure(batch, clock.now(), batchEnded);
    const [result] = await Promise.allSettled([commit(batch.map(({ command }) => command))]);
    measured?.(result);
    const pauses = batch.length >= gathering.many && !closed;
    // Before the answers to this batch are sent: meanwhile the next one is written and waits for the disk.
    if (!pauses) commitNext();
    endCommit(batch, result);
    if (result.status === 'fulfilled') settle(batch, result.value);
    else for (const { reject } of batch) reject(result.reason);
    if (!pauses) return;
    await pause(gathering.pauseMs);
    commitNext();
  }

  /** What waits long for a caller who is not there any more need not be done; those behind it wait, too. */
  function dropDeserted(): void {
    const since = clock.now() - writes.desertedMs;
    const isDeserted = ({ at, caller }: Waiting<Command>) => at < since && caller?.hasLeft() === true;
    if (!queue.some(isDeserted)) return;
    const deserted = queue.filter(isDeserted);
    putQueue(queue.filter((waiting) => !isDeserted(waiting)));
    // Whoever has only said that nothing more will be sent reads it.
    for (const waiting of deserted) {
      const error = refusal(50300, 'The write waited too long; nothing was done.');
      abandonCommit(waiting, error);
      waiting.reject(error);
    }
  }

  function takeBatch(): Waiting<Command>[] {
    const batch = queue;
    putQueue(batch.splice(writes.batchCommands));
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
    submit(command, bytes, door = 'bounded', caller) {
      if (closed) return Promise.reject(refusal(50303, 'The service is shutting down; nothing was done.'));
      const at = clock.now();
      if (door === 'bounded' && isFullAt(at)) {
        return Promise.reject(
          refusal(50300, 'Too many writes are waiting; nothing was done. Retry in a moment.'),
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

function refusal(code: 50300 | 50303, message: string): AppError {
  return new AppError(code, message, { headers: { 'retry-after': String(http.retryAfterSeconds) } });
}

function settle(batch: Waiting<unknown>[], { outcomes, failures }: BatchResult): void {
  const failed = new Map(failures.map(({ index, error }) => [index, error]));
  batch.forEach(({ resolve, reject }, index) => {
    const error = failed.get(index);
    if (error) reject(error);
    else resolve(outcomes[index]);
  });
}
