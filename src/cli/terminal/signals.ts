import { constants } from 'node:os';
import { processes } from '../../limits.ts';
import { type Clock, silentLog, systemRuntime } from '../../runtime.ts';

/**
 * Resolves at the first SIGTERM or SIGINT. Another one after it ends the process at once, with 128 and the
 * signal's number as its exit code. Those that come together count as one: a terminal sends Ctrl+C to every
 * process in it, and `npm` then passes it on once more.
 */
export function stopSignal(clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let first: number | undefined;

  function onSignal(signal: NodeJS.Signals): void {
    first ??= clock.now();
    resolve();
    if (clock.now() - first >= processes.signalEchoMs) process.exit(128 + constants.signals[signal]);
  }

  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return promise;
}

/** Aborted by Ctrl+C, SIGTERM, and the end of the terminal: what is begun is tidied up, and nothing else is begun. */
export function interrupted(): AbortSignal {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  void stopSignal(systemRuntime(silentLog).clock).then(stop);
  process.on('SIGHUP', stop);
  return stopping.signal;
}
