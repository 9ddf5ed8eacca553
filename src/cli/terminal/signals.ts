import { constants } from 'node:os';
import { processes } from '../../limits.ts';
import { type Clock, silentLog, systemRuntime } from '../../runtime.ts';

/**
 * Resolves with the first SIGTERM or SIGINT; a later one ends the process at once, with 128 plus its number. Signals
 * close together count as one: a terminal sends Ctrl+C to every process in it, and `npm` passes it on again.
 */
export function stopSignal(clock: Clock): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let first: number | undefined;

  function onSignal(signal: NodeJS.Signals): void {
    first ??= clock.now();
    resolve(signal);
    if (clock.now() - first >= processes.signalEchoMs) process.exit(128 + constants.signals[signal]);
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

/** Aborted by Ctrl+C, SIGTERM and the end of the terminal: finish what was started, and start nothing new. */
export function interrupted(): AbortSignal {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  void stopSignal(systemRuntime(silentLog).clock).then(stop);
  process.on('SIGHUP', stop);
  return stopping.signal;
}
