import { setTimeout as pause } from 'node:timers/promises';
import { database as limits } from '../../../limits.ts';
import type { LaneNews } from '../../../webhooks/delivery/port.ts';
import type { Heartbeat } from './heartbeat.ts';
import { type Announced, createHints, type HintsOptions } from './hints.ts';

type NewsOptions = Pick<HintsOptions, 'database' | 'log' | 'listens'> & {
  heartbeat: Pick<Heartbeat, 'beat'>;
  /** The end of the feed while one of these owners has events after it. */
  unsettled(owners: readonly number[]): Promise<string | undefined>;
};

export type News = ReturnType<typeof createNews>;

/** Passes what a transaction announced to those concerned, in this replica and in others. */
export function createNews(options: NewsOptions) {
  const { heartbeat, unsettled } = options;
  const listeners = {
    lanes: [] as ((news: LaneNews) => void)[],
    events: [] as ((owners: readonly number[]) => void)[],
  };
  const settling = new Set<number>();
  const stopped = new AbortController();
  let settlingUnderWay: Promise<void> | undefined;

  const hints = createHints({ ...options, onHint: (announced) => void tell(announced) });

  async function tell({ lanes, owners, changed, access }: Announced): Promise<void> {
    if (lanes.length + changed.length > 0)
      for (const listener of listeners.lanes) listener({ work: lanes, changed });
    for (const owner of owners) settling.add(owner);
    if (settling.size > 0) settlingUnderWay ??= settle();
    if (access) await heartbeat.beat();
  }

  /**
   * An event joins the feed, and followers learn of it, when every older transaction is over. While the same one blocks
   * the feed, which may take hours, this checks ever less often.
   */
  async function settle(): Promise<void> {
    const { first, most } = limits.settleMs;
    let waitMs: number = first;
    let heldAt: string | undefined;
    while (settling.size > 0 && !stopped.signal.aborted) {
      const owners = [...settling];
      settling.clear();
      try {
        const feedEnd = await unsettled(owners);
        waitMs = feedEnd !== undefined && feedEnd === heldAt ? Math.min(2 * waitMs, most) : first;
        heldAt = feedEnd;
      } catch {
        heldAt = 'unknown';
        waitMs = limits.heartbeatMs;
      }
      if (heldAt === undefined) for (const listener of listeners.events) listener(owners);
      else for (const owner of owners) settling.add(owner);
      await pause(waitMs, undefined, { signal: stopped.signal }).catch(() => {});
    }
    settlingUnderWay = undefined;
  }

  return {
    /** Call it after a commit. Resolves when this replica sees its own change. */
    async publish(announced: Announced): Promise<void> {
      hints.send(announced);
      await tell(announced);
    },
    onLanes: (listener: (news: LaneNews) => void) => void listeners.lanes.push(listener),
    onEvents: (listener: (owners: readonly number[]) => void) => void listeners.events.push(listener),
    async close(): Promise<void> {
      stopped.abort();
      await settlingUnderWay;
      await hints.close();
    },
  };
}
