import { parentPort, workerData } from 'node:worker_threads';
import { monotonicMs } from '../measure/clock.ts';
import type { Beat } from './pace.ts';

/**
 * The beat for `pace`: it sleeps in its own thread, because a timer of the event loop is up to a millisecond late, as
 * long as the times to measure.
 */

// What `pace` hands over.
const { start, everyMs, ended }: Beat = workerData;

for (let n = 0; Atomics.load(ended, 0) === 0; n++) {
  const wait = start + n * everyMs - monotonicMs();
  if (wait <= 0 || Atomics.wait(ended, 0, 0, wait) === 'timed-out') parentPort?.postMessage(n);
}
