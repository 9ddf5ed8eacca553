import { openUnfinishedStore, type UnfinishedStore } from '../../store/sqlite/engine/unfinished-stores.ts';
import { exitCodeAfter } from '../terminal/signals.ts';

/**
 * Opens an unfinished store for the work, which disposes of it. A signal that ends the process removes it as well.
 * @param report disposed of before the process ends
 */
export async function inUnfinishedStore<T>(
  prefix: string,
  report: Disposable,
  work: (unfinished: UnfinishedStore) => Promise<T>,
): Promise<T> {
  let unfinished: UnfinishedStore | undefined;
  using _handlers = onInterrupt(() => {
    report[Symbol.dispose]();
    unfinished?.[Symbol.dispose]();
  });
  unfinished = openUnfinishedStore(prefix);
  return await work(unfinished);
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Until its disposal. */
function onInterrupt(cleanUp: () => void): Disposable {
  function interrupted(signal: NodeJS.Signals): void {
    cleanUp();
    // Nothing handles it a second time, so it ends the process at once: an SQLite statement may run for long.
    process.kill(process.pid, signal);
    // Only in the first process of a container, which no unhandled signal ends.
    process.exit(exitCodeAfter(signal));
  }

  for (const signal of SIGNALS) process.once(signal, interrupted);
  return {
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.off(signal, interrupted);
    },
  };
}
