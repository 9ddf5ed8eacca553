import { Writable } from 'node:stream';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { runVerb, type VerbCall } from './verb.ts';

/**
 * A thread that has loaded the program and runs one verb after another, each as a program of its own would: with its
 * own environment, an empty standard input, and its output and exit code for itself alone. `verb-threads.ts` starts it.
 */

export type VerbEnd = { code: number; stdout: string; stderr: string };

if (!isMainThread && parentPort) {
  const port = parentPort;
  const { main } = await import(workerData.main);
  port.on('message', async (call: VerbCall) => {
    const [stdout, stderr] = [replaced('stdout'), replaced('stderr')];
    process.stdin.removeAllListeners();
    const code = await runVerb(main, call);
    port.postMessage({ code, stdout: stdout(), stderr: stderr() } satisfies VerbEnd);
  });
}

/** Puts a stream that keeps its text in the place of an output, and returns a function that reads the text. */
function replaced(name: 'stdout' | 'stderr'): () => string {
  const chunks: Buffer[] = [];
  const value = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  Object.defineProperty(process, name, { value, configurable: true });
  return () => Buffer.concat(chunks).toString();
}
