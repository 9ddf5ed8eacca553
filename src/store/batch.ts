import { AppError } from '../errors.ts';
import { http, writes } from '../limits.ts';
import type { Clock } from '../runtime.ts';

/**
 * Group commit: commands that arrive while a commit is under way become one transaction, the next.
 * The queue is bounded by count, bytes and age; past a bound the answer is 50300 at the door.
 */
export type GroupCommit<Command> = {
  /** Resolves with the command's own outcome once its transaction is on disk. */
  submit(command: Command, bytes: number, door?: Door): Promise<unknown>;
  /** Commits what is queued; later commands are refused with 50303. */
  close(): Promise<void>;
};

/** `open`: for commands whose number is bounded elsewhere and that must not be refused because of others. */
export type Door = 'bounded' | 'open';

/**
 * Runs the commands as one transaction. Rejects with AppError 50302 when nothing was done and with 50301
 * when the outcome is unknown.
 */
export type Commit<Command> = (commands: Command[]) => Promise<BatchResult>;

export type BatchResult = {
  /** One outcome for each command, in order. */
  outcomes: unknown[];
  /** Commands that failed alone, by index; their neighbours are committed. */
  failures: { index: number; error: AppError }[];
};

export function groupCommit<Command>(commit: Commit<Command>, clock: Clock): GroupCommit<Command> {
  let queue = emptyQueue<Command>();
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
    underWay = queue.commands.length > 0 ? commitBatch(takeBatch()) : undefined;
  }

  async function commitBatch({ commands, waiters }: Queue<Command>): Promise<void> {
    const [result] = await Promise.allSettled([commit(commands)]);
    // Before the answers to this batch are sent: meanwhile the next one is written and waits for the disk.
    commitNext();
    if (result.status === 'fulfilled') settle(waiters, result.value);
    else for (const waiter of waiters) waiter.reject(result.reason);
  }

  function takeBatch(): Queue<Command> {
    const batch = queue;
    queue = emptyQueue();
    if (batch.commands.length > writes.batchCommands) {
      queue.commands = batch.commands.splice(writes.batchCommands);
      queue.waiters = batch.waiters.splice(writes.batchCommands);
      queue.bytes = queue.waiters.reduce((sum, { bytes }) => sum + bytes, 0);
    }
    return batch;
  }

  return {
    submit(command, bytes, door = 'bounded') {
      if (closed) return Promise.reject(refusal(50303, 'The service is shutting down; nothing was done.'));
      const at = clock.now();
      if (door === 'bounded' && isFull(queue, at)) {
        return Promise.reject(
          refusal(50300, 'Too many writes are waiting; nothing was done. Retry in a moment.'),
        );
      }
      queue.bytes += bytes;
      queue.commands.push(command);
      schedule();
      return new Promise((resolve, reject) => queue.waiters.push({ resolve, reject, at, bytes }));
    },
    async close() {
      closed = true;
      while (underWay || queue.commands.length > 0) {
        await (underWay ?? new Promise((resolve) => setImmediate(resolve)));
      }
    },
  };
}

type Queue<Command> = { commands: Command[]; waiters: Waiter[]; bytes: number };
/** Whoever waits for a command's outcome, since when, and what its command takes of the queue's bytes. */
type Waiter = { resolve(outcome: unknown): void; reject(error: unknown): void; at: number; bytes: number };

function emptyQueue<Command>(): Queue<Command> {
  return { commands: [], waiters: [], bytes: 0 };
}

function isFull(queue: Queue<unknown>, now: number): boolean {
  return (
    queue.commands.length >= writes.queuedCommands ||
    queue.bytes >= writes.queuedBytes ||
    now - (queue.waiters[0]?.at ?? now) > writes.queueAgeMs
  );
}

function refusal(code: 50300 | 50303, message: string): AppError {
  return new AppError(code, message, { headers: { 'retry-after': String(http.retryAfterSeconds) } });
}

function settle(waiters: Waiter[], { outcomes, failures }: BatchResult): void {
  const failed = new Map(failures.map(({ index, error }) => [index, error]));
  waiters.forEach((waiter, index) => {
    const error = failed.get(index);
    if (error) waiter.reject(error);
    else waiter.resolve(outcomes[index]);
  });
}
