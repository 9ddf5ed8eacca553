import type { EventStore } from './port.ts';

/** Passes the store's hints on to followers of events, with one listener on the store for all of them. */
export type EventHub = {
  /** Calls `wake` when one of these users may have new events, until the returned function is called. */
  watch(owners: readonly number[], wake: () => void): () => void;
};

export function createEventHub(events: Pick<EventStore, 'onEvents'>): EventHub {
  const watchers = new Map<number, Set<() => void>>();
  events.onEvents((owners) => {
    for (const owner of owners) for (const wake of watchers.get(owner) ?? []) wake();
  });

  function enter(owner: number, wake: () => void): void {
    const present = watchers.get(owner);
    if (present) present.add(wake);
    else watchers.set(owner, new Set([wake]));
  }

  function leave(owner: number, wake: () => void): void {
    const present = watchers.get(owner);
    present?.delete(wake);
    if (present?.size === 0) watchers.delete(owner);
  }

  return {
    watch(owners, wake) {
      for (const owner of owners) enter(owner, wake);
      return () => {
        for (const owner of owners) leave(owner, wake);
      };
    },
  };
}
