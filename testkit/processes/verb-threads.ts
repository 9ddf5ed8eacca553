import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { MAIN } from './executable.ts';
import type { VerbCall } from './verb.ts';
import type { VerbEnd } from './verb-thread.ts';

/** Threads without a verb to run. They end with the process. */
const idle: Worker[] = [];

/**
 * Runs a verb to its end in a thread that has loaded the program: starting a process takes 0.1 s of CPU, most verbs a
 * few milliseconds.
 */
export async function runInThread(call: VerbCall): Promise<VerbEnd> {
  const thread = idle.pop() ?? startThread();
  thread.ref();
  thread.postMessage(call);
  // Rejects when the verb throws what the program does not handle.
  const [end] = (await once(thread, 'message')) as [VerbEnd];
  thread.unref();
  idle.push(thread);
  return end;
}

/** What a thread writes outside a verb is not passed on: each such thread would add listeners to this process's output. */
function startThread(): Worker {
  const file = new URL('verb-thread.ts', import.meta.url);
  return new Worker(file, { workerData: { main: MAIN }, stdout: true, stderr: true });
}
