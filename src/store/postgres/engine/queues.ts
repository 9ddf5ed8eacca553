import { AppError } from '../../../errors.ts';
import type { Caller } from '../../../idempotency/port.ts';
import { database as limits } from '../../../limits.ts';
import type { EndedBatch, Measures, QueueReading } from '../../../observability/port.ts';
import { type Clock, steadyClock } from '../../../runtime.ts';
import { COMMAND_BYTES, groupCommit } from '../../batch.ts';
import { refuseUndone } from '../../write-outcomes.ts';
import { alone, type Command, goTogether, type Work, type Write } from './writer.ts';

export type Queues = ReturnType<typeof createQueues>;
export type Run = Queues['run'];

/** Queues the commands of requests for the writer. */
export function createQueues(write: Write, clock: Clock, measures?: Measures) {
  const steady = steadyClock(clock);
  const requests = groupCommit<Command>(write, steady, {
    goTogether,
    batchEnded: measures && ((batch: EndedBatch) => measures.batchEnded('writes', batch)),
    gathering: { many: limits.gatherMany, pauseMs: limits.gatherMs },
    patience: { beginMs: limits.beginMs, answerMs: limits.writeMs, checkMs: limits.lateCheckMs },
  });
  const submit = (command: Command, bytes: number, caller?: Caller) =>
    requests.submit(command, bytes, caller).then(refuseUndone);

  return {
    submit,
    /** Runs a request's work as a transaction of its own. */
    async run<T>(work: Work<T>, caller?: Caller) {
      // The outcome is what the work returns; `submit` throws when nothing was done.
      return (await submit(alone(work, caller), COMMAND_BYTES, caller)) as T;
    },
    /** Runs a slice of long work outside the queues, which must not wait for it. */
    async slice<T>(work: Work<T>) {
      const [outcome] = await write([alone(work, undefined)], () => true);
      if (outcome instanceof AppError) throw outcome;
      // As in `run`.
      return outcome as T;
    },
    isFull: requests.isFull,
    reading: (): QueueReading => ({ queue: 'writes', ...requests.waiting() }),
    close: requests.close,
  };
}
