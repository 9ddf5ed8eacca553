import { silentLog, systemRuntime } from '../../runtime.ts';
import { stopSignal } from './signals.ts';

/** Aborted by Ctrl+C, SIGTERM, and the end of the terminal: what is begun is tidied up, and nothing else is begun. */
export function interrupted(): AbortSignal {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  void stopSignal(systemRuntime(silentLog).clock).then(stop);
  process.on('SIGHUP', stop);
  return stopping.signal;
}
