import { parentPort, workerData } from 'node:worker_threads';
import { monotonicMs } from './clock.ts';
import type { Beat } from './pace.ts';

/**
 * Gives the beat of `pace`: it sleeps in a thread of its own, because a timer of the event loop comes up to a
 * millisecond late, which is as long as what is measured.
 */

// What `pace` hands over.
const { start, everyMs, ended }: Beat = workerData;

for (let n = 0; Atomics.load(ended, 0) === 0; n++) {
  const wait = start + n * everyMs - monotonicMs();
  if (wait <= 0 || Atomics.wait(ended, 0, 0, wait) === 'timed-out') parentPort?.postMessage(n);
}
