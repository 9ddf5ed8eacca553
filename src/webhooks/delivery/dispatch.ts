import type { LaneCounts } from '../../observability/port.ts';
import { isAsNew, isBusy, type Lane, newLane, nextOf } from './lane.ts';
import { beginReading, expectManual, expectMore, forget, readsAt, rereadAt, takeIn } from './lane-reads.ts';
import { createLedger } from './ledger.ts';
import type { LaneFence } from './ownership.ts';
import type { LaneContents, LaneRequest, Outcome, Work } from './port.ts';
import { createRequests, type InFlight, type RequestEffect } from './requests.ts';
import type { Rules } from './rules.ts';
import { createSlots } from './slots.ts';
import { isProbed } from './trouble.ts';
import { createWakes } from './wakes.ts';

export type Dispatch = ReturnType<typeof createDispatch>;

export type TakenLane = Pick<Lane, 'webhook' | 'fence' | 'isInherited'> & {
  /** Whether the previous process may have been killed by what it sent. */
  isSuspect: boolean;
};

export type Effect =
  | { do: 'take'; webhook: string }
  /** Gives the lane to others, who must expect that it was just used. */
  | { do: 'handOver'; webhook: string }
  | { do: 'read'; fence: number; request: LaneRequest }
  | RequestEffect
  /** `waitMs`: how long the first has waited. */
  | { do: 'record'; outcomes: readonly Outcome[]; waitMs: number };

/**
 * Decides which deliveries are sent, and when: the rules over all lanes of a process, without I/O. Callers report
 * events with their time; `advance` returns what to do. The same calls always lead to the same effects.
 */
export function createDispatch(rules: Rules) {
  const lanes = new Map<string, Lane>();
  /** Lanes that are not owned, and when their first delivery is due. */
  const wanted = createWakes<string>();
  const asking = new Set<string>();
  const wakes = createWakes<Lane>();
  /** Lanes that may have something to do now, in turn. */
  const ready = new Set<Lane>();
  const ledger = createLedger(rules);
  const slots = createSlots(rules, ledger);
  const wake = (lane: Lane) => void ready.add(lane);
  const requests = createRequests({ rules, ledger, slots, ownLane, drop, wake });
  let isDraining = false;

  function ownLane({ webhook, fence }: LaneFence): Lane | undefined {
    const lane = lanes.get(webhook);
    return lane?.fence === fence ? lane : undefined;
  }

  function drop(lane: Lane): void {
    lanes.delete(lane.webhook);
    wakes.clear(lane);
    ready.delete(lane);
    slots.forget(lane);
  }

  /** Starts at most one request of the lane, so that lanes take turns. */
  function serve(lane: Lane, now: number, effects: Effect[]): void {
    if (lane.isLeaving) {
      handOver(lane, effects);
      return;
    }
    const next = nextOf(lane, slots.widthFor(lane), rules, now);
    const until = typeof next === 'object' && 'until' in next ? next.until : Infinity;
    const readAt = read(lane, Number.isFinite(until), now, effects);
    if (next === 'slots') slots.wait(lane);
    else if (typeof next === 'object' && 'event' in next && slots.admitOrWait(lane, next)) {
      effects.push(...requests.start(lane, next, now));
      wake(lane);
    }
    const wakeAt = Math.min(readAt, until);
    if (Number.isFinite(wakeAt)) wakes.set(lane, wakeAt);
  }

  function handOver(lane: Lane, effects: Effect[]): void {
    if (lane.underWay.size > 0) return;
    drop(lane);
    effects.push({ do: 'handOver', webhook: lane.webhook });
  }

  /** Reads what may be in the store. Returns when to read the lane next; infinite while that is unknown. */
  function read(lane: Lane, isHeld: boolean, now: number, effects: Effect[]): number {
    const at = Math.max(readsAt(lane, isHeld, lanes.size, rules, now), ledger.retryAt());
    if (now < at) return at;
    if (slots.takeReadSlot(lane)) {
      const request = beginReading(lane, isHeld, lanes.size, rules, now);
      effects.push({ do: 'read', fence: lane.fence, request });
    }
    return Infinity;
  }

  /** @param isSearch whether a busy lane may already have this work */
  function hear(work: readonly Work[], now: number, isSearch: boolean): void {
    for (const { webhook, due = now, isAsked } of work) {
      const lane = lanes.get(webhook);
      if (lane) {
        if (isAsked) expectManual(lane, due);
        expectMore(lane, isSearch && isBusy(lane) ? Math.max(due, rereadAt(lane, lanes.size, rules)) : due);
        wake(lane);
      } else if (!asking.has(webhook)) wanted.set(webhook, Math.min(wanted.at(webhook) ?? due, due));
    }
  }

  /** Discards what was read but not yet sent. */
  function change(webhook: string, isLeaving: boolean): void {
    const lane = lanes.get(webhook);
    if (!lane) return;
    lane.isLeaving ||= isLeaving;
    forget(lane);
    wake(lane);
  }

  function leave(webhooks: Iterable<string>): void {
    for (const webhook of webhooks) change(webhook, true);
  }

  return {
    /** Lanes have work. Lanes that are not owned are requested (`take`). */
    work: (work: readonly Work[], now: number) => hear(work, now, false),
    /** A search found lanes with work: their hint may have been lost, or this process may already know the work. */
    found: (work: readonly Work[], now: number) => hear(work, now, true),

    /** This process owns a lane from now on. */
    taken({ webhook, fence, isInherited, isSuspect }: TakenLane, now: number): void {
      asking.delete(webhook);
      wanted.clear(webhook);
      const known = lanes.get(webhook);
      if (known?.fence === fence) return;
      if (known) drop(known);
      // Includes the manual one.
      const careful = isSuspect ? rules.concurrency + 1 : 0;
      const lane = newLane({ webhook, fence, isInherited, careful, takenAt: now });
      lane.isLeaving = isDraining;
      lanes.set(webhook, lane);
      wake(lane);
    },

    /** These lanes were refused, or another process owns them. Their requests in flight are not recorded. */
    lost(webhooks: Iterable<string>): void {
      for (const webhook of webhooks) {
        asking.delete(webhook);
        const lane = lanes.get(webhook);
        if (lane) drop(lane);
      }
    },

    /** A webhook was deleted, disabled, enabled, or has a new target. */
    changed: (webhook: string) => change(webhook, false),
    /** Hand these lanes over: start nothing more, and give each back when everything started is recorded. */
    leave,

    /** A `read` ended; undefined when the store failed. */
    hasRead(webhook: string, fence: number, found: LaneContents | undefined, now: number): void {
      slots.freeRead();
      const lane = ownLane({ webhook, fence });
      const reading = lane?.reading;
      if (!lane || !reading) return;
      lane.reading = undefined;
      if (!found) ledger.failed(now);
      else if (!reading.isStale) takeIn(lane, reading, found, rules, now);
      wake(lane);
    },

    /** A `suspect` was stored; false when the store failed. */
    suspected(request: InFlight, isWritten: boolean, now: number): void {
      if (!isWritten) ledger.failed(now);
      requests.suspected(request, isWritten, now);
    },

    ended: requests.ended,
    recorded: requests.recorded,

    /** Hands all lanes over, as `leave` does, and takes no more. */
    drain(): void {
      isDraining = true;
      leave(lanes.keys());
    },

    /** What to do now. */
    advance(now: number): Effect[] {
      const effects: Effect[] = requests.sendWritten(now);
      if (!isDraining) {
        for (const webhook of wanted.due(now)) {
          asking.add(webhook);
          effects.push({ do: 'take', webhook });
        }
      }
      for (const lane of wakes.due(now)) ready.add(lane);
      slots.letIn((lane) => serve(lane, now, effects));
      // A lane added meanwhile has its turn after the others.
      for (const lane of ready) {
        ready.delete(lane);
        serve(lane, now, effects);
      }
      const outcomes = ledger.next(now);
      if (outcomes) effects.push({ do: 'record', outcomes, waitMs: ledger.reading(now).ageMs });
      return effects;
    },

    /** When `advance` next has something to do without a new event. */
    wakeAt(): number | undefined {
      const times = isDraining ? [] : [wanted.next(), wakes.next()];
      const known = [...times, ledger.wakeAt()].filter((at) => at !== undefined);
      return known.length > 0 ? Math.min(...known) : undefined;
    },

    /** Whether nothing is being sent or recorded. */
    isIdle: () => slots.taken() === 0 && ledger.isEmpty(),

    /** Gives up lanes that have nothing to do before this time, and returns them. */
    release(until: number, now: number): string[] {
      const idle = [...lanes.values()].filter(
        (lane) => lane.moreAt >= until && isAsNew(lane, rules.troubledMs, now),
      );
      for (const lane of idle) {
        drop(lane);
        if (Number.isFinite(lane.moreAt)) wanted.set(lane.webhook, lane.moreAt);
      }
      return idle.map(({ webhook }) => webhook);
    },

    queue: ledger.reading,

    counts(now: number): LaneCounts {
      // Excludes lanes without due work and deleted webhooks, which delay nothing.
      const troubled = [...lanes.values()].filter(
        ({ inFlight, trouble }) => inFlight > 0 || now - trouble.lastAt < rules.troubledMs,
      );
      const silent = troubled.filter(({ trouble }) => trouble.isSilent).length;
      const failing = troubled.filter(({ trouble }) => !trouble.isSilent && isProbed(trouble, rules)).length;
      return { underWay: slots.taken(), silent, failing };
    },
  };
}
