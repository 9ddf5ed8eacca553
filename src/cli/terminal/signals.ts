import { constants } from 'node:os';
import { processes } from '../../limits.ts';

/**
 * Resolves with the first SIGTERM or SIGINT; a later one ends the process at once, which a shell reports as 128 plus its
 * number. Signals close together count as one: a terminal sends Ctrl+C to every process in it, and `npm` passes it on
 * again.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let first: number | undefined;

  function onSignal(signal: NodeJS.Signals): void {
    first ??= performance.now();
    resolve(signal);
    if (performance.now() - first < processes.signalEchoMs) return;
    // The signal itself, since `process.exit` waits for threads, even one that opens a pipe nobody else opens.
    process.off(signal, onSignal);
    process.kill(process.pid, signal);
    // Only in the first process of a container, which no unhandled signal ends.
    process.exit(exitCodeAfter(signal));
  }

  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  // npm and npx pass SIGTERM to the shell in which they run this program. Some shells, such as Debian's, end without
  // passing it on; then only the program's new parent shows that it has to stop.
  if (process.env.npm_command !== undefined) {
    const { ppid } = process;
    const check = () => first === undefined && process.ppid !== ppid && onSignal('SIGTERM');
    setInterval(check, processes.parentCheckMs).unref();
  }
  return promise;
}

/** What a shell reports for a process that the signal ends: 130 for Ctrl+C. */
export function exitCodeAfter(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/**
 * Aborts at Ctrl+C and SIGTERM: finish what was started, and start nothing new. The exit code is then that of the
 * signal.
 */
export function abortOnSignal(stopping: AbortController): void {
  void stopSignal().then((signal) => abort(stopping, signal));
}

/** Aborted also by the end of the terminal. */
export function interrupted(stopping = new AbortController()): AbortSignal {
  abortOnSignal(stopping);
  process.on('SIGHUP', (signal) => abort(stopping, signal));
  return stopping.signal;
}

function abort(stopping: AbortController, signal: NodeJS.Signals): void {
  process.exitCode = exitCodeAfter(signal);
  stopping.abort();
}
