import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { feeds as limits } from '../limits.ts';
import type { EventPage, EventQuery, EventStore, FeedEvent } from './port.ts';

/**
 * A page of the events of the plants that a user has access to, oldest first.
 * @throws AppError 40007 when events after the position are no longer kept.
 */
export async function listEvents({ events }: { events: EventStore }, query: EventQuery): Promise<EventPage> {
  const page = await events.events(query);
  if (page !== undefined) return page;
  throw new AppError(
    40007,
    'Events after this cursor are no longer kept (RETENTION_DAYS); start without one, and expect a gap.',
  );
}

export type EventHub = ReturnType<typeof createEventHub>;

/** Passes the store's hints on to followers of events, with one listener on the store for all of them. */
export function createEventHub(events: Pick<EventStore, 'onEvents'>) {
  const hints = new EventEmitter().setMaxListeners(0);
  events.onEvents((owners) => {
    for (const owner of owners) hints.emit(String(owner));
  });
  return {
    /**
     * Calls `wake` when one of the users last given to the returned function may have new events: whose plants a
     * viewer sees may change at any time.
     */
    watcher(wake: () => void): (owners: readonly number[]) => void {
      let watched: readonly number[] = [];
      return (owners) => {
        if (owners.join() === watched.join()) return;
        for (const owner of watched) hints.off(String(owner), wake);
        for (const owner of owners) hints.on(String(owner), wake);
        watched = owners;
      };
    },
  };
}

export type FollowParts = {
  events: EventStore;
  hub: EventHub;
  viewer: number;
  /** The position after which to begin. */
  after: string;
  signal: AbortSignal;
  /** Called before each read of the store: whether the viewer still has access. */
  isAdmitted(): Promise<boolean>;
  /** The users whose plants the viewer may see then. */
  visibleOwners(viewer: number): Promise<readonly number[]>;
  bounds?: Partial<Record<'page' | 'pollMs' | 'heartbeatMs', number>>;
};

/**
 * The events after a position as they happen, in parts; an empty part means that it has been quiet for a while. Reads
 * on only when the previous part was taken, so a slow reader costs one part. Ends when the signal is aborted, when
 * the viewer loses access, or when events in between are no longer kept.
 */
export async function* followEvents(parts: FollowParts): AsyncGenerator<FeedEvent[], void> {
  const { events, hub, viewer, signal, isAdmitted, visibleOwners } = parts;
  const { page: limit, pollMs, heartbeatMs } = { ...limits, ...parts.bounds };
  // Woken while it does not wait, the follower does not wait the next time.
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();
  let isQuiet = false;
  // A separate timer, because the clock may be set back.
  const heartbeat = setInterval(() => {
    isQuiet = true;
    wake();
  }, heartbeatMs);
  const watch = hub.watcher(wake);
  signal.addEventListener('abort', wake);
  try {
    let { after } = parts;
    while (!signal.aborted && (await isAdmitted())) {
      // Before the read, so that no event in between goes unnoticed.
      watch(await visibleOwners(viewer));
      const page = await events.events({ viewer, after, limit });
      if (page === undefined) return;
      after = page.next;
      if (page.events.length > 0 || isQuiet) {
        yield page.events;
        isQuiet = false;
        heartbeat.refresh();
      }
      if (page.events.length < limit) {
        const poll = setTimeout(wake, pollMs);
        await woken.promise;
        clearTimeout(poll);
        woken = Promise.withResolvers();
        // Otherwise a fast reader would keep every other request waiting.
      } else await setImmediate();
    }
  } finally {
    signal.removeEventListener('abort', wake);
    watch([]);
    clearInterval(heartbeat);
  }
}
