import { setTimeout as pause } from 'node:timers/promises';
import { database as limits } from '../../../limits.ts';
import type { LaneNews } from '../../../webhooks/delivery/port.ts';
import type { Heartbeat } from './heartbeat.ts';
import { type Announced, createHints, type HintsOptions } from './hints.ts';

type NewsOptions = Pick<HintsOptions, 'database' | 'log' | 'listens'> & {
  heartbeat: Pick<Heartbeat, 'beat'>;
  /** Undefined once all events of these owners are in the feed. */
  unsettled(owners: readonly number[]): Promise<Unsettled | undefined>;
};

/** The end of the feed, and the one that has every event that is committed now. */
export type Unsettled = { end: bigint; goal: bigint };

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
    // A replica without an API has no followers.
    if (listeners.events.length > 0) for (const owner of owners) settling.add(owner);
    if (settling.size > 0) settlingUnderWay ??= settle();
    if (access) await heartbeat.beat();
  }

  /** Tells followers of events once these have joined the feed. */
  async function settle(): Promise<void> {
    while (settling.size > 0 && !stopped.signal.aborted) {
      const owners = [...settling];
      settling.clear();
      await settled(owners);
      for (const listener of listeners.events) listener(owners);
      await rest(limits.settleMs.first);
    }
    settlingUnderWay = undefined;
  }

  /**
   * Waits until the feed has what these owners had committed at first: an event joins it when every older transaction is
   * over. While the same one blocks the feed, which may take hours, this checks ever less often.
   */
  async function settled(owners: readonly number[]): Promise<void> {
    const { first, most } = limits.settleMs;
    let waitMs: number = first;
    let goal: bigint | undefined;
    let heldAt: bigint | undefined;
    while (!stopped.signal.aborted) {
      try {
        const found = await unsettled(owners);
        goal ??= found?.goal;
        if (found === undefined || (goal !== undefined && found.end >= goal)) return;
        waitMs = found.end === heldAt ? Math.min(2 * waitMs, most) : first;
        heldAt = found.end;
      } catch {
        waitMs = limits.heartbeatMs;
      }
      await rest(waitMs);
    }
  }

  const rest = (ms: number) => pause(ms, undefined, { signal: stopped.signal }).catch(() => {});

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
