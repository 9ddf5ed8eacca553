import { Writable } from 'node:stream';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';

/**
 * A thread that has loaded the program and runs one verb after another, each as a program of its own would: with its
 * own environment, an empty standard input, and its output and exit code for itself alone. `verb-threads.ts` starts it.
 */

export type VerbCall = { args: readonly string[]; env: Readonly<Record<string, string>> };
export type VerbEnd = { code: number; stdout: string; stderr: string };

if (!isMainThread && parentPort) {
  const port = parentPort;
  const { main } = await import(workerData.main);
  port.on('message', async ({ args, env }: VerbCall) => {
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, env);
    const [stdout, stderr] = [replaced('stdout'), replaced('stderr')];
    process.stdin.removeAllListeners();
    await main(args);
    const code = Number(process.exitCode ?? 0);
    process.exitCode = undefined;
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.removeAllListeners(signal);
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
