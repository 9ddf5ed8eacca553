import type { ClaimRequest } from '../../webhooks/port.ts';
import type { Lane } from './announced.ts';

/**
 * The webhooks that may have something due, as far as this replica knows. In memory, because a time in the webhook's
 * row would be written by every transaction that makes a delivery, of every replica. What is not known here yet, a
 * sweep finds; what is known too early costs a look.
 */
export type DueLanes = {
  /** Without `due`, something may be due whatever was known, a pause included. */
  note(lanes: readonly Lane[]): void;
  /** What a look at the store found: the first due time, and the pause. */
  found(lane: Lane & { due: number; pausedUntil: number }): void;
  pause(webhook: string, until: number): void;
  /** A claim of this replica ended: there may be room again. */
  loosen(webhook: string): void;
  /** Those that may be claimed now, the one that has waited for longest first, at most as many as `limit`. */
  ready(request: ClaimRequest, apart: ReadonlySet<string>): DueLane[];
  /** Call before a look whose answer goes to `settle`. */
  ask(lanes: readonly DueLane[]): void;
  settle(webhook: string, now: number, answer: Answer): void;
  /** The first time after `now` at which a lane may be claimed. */
  nextDue(now: number): number | undefined;
};

export type DueLane = {
  readonly subscriber: number;
  readonly webhook: string;
  dueAt: number;
  /** The earliest that was noted since it was last asked for. */
  notedDue: number;
  pausedUntil: number;
  /** Since other replicas are at it, or its rate admits nothing. */
  closedUntil: number;
  claimedAt: number;
  /** Its bucket of tokens as this replica left it. */
  bucket: Bucket | undefined;
};

/** The attempts that the rate of a webhook admits at a time. */
type Bucket = { tokens: number; at: number };

/** What came of an attempt to claim. */
export type Answer = {
  /** Undefined: still due. Infinity: it has nothing that is pending, or there is no such webhook any more. */
  dueAt?: number | undefined;
  pausedUntil?: number | undefined;
  closedUntil?: number | undefined;
  bucket?: Bucket | undefined;
  isClaimed: boolean;
};

export function createDueLanes(): DueLanes {
  const lanes = new Map<string, DueLane>();

  function laneOf({ subscriber, webhook }: Omit<Lane, 'due'>): DueLane {
    const known = lanes.get(webhook) ?? newLane(subscriber, webhook);
    lanes.set(webhook, known);
    return known;
  }

  function expect(lane: DueLane, due: number): void {
    lane.dueAt = Math.min(lane.dueAt, due);
    lane.notedDue = Math.min(lane.notedDue, due);
  }

  return {
    note(noted) {
      for (const { due, ...lane } of noted) {
        const known = laneOf(lane);
        expect(known, due ?? 0);
        if (due === undefined) known.pausedUntil = 0;
      }
    },
    found({ due, pausedUntil, ...lane }) {
      const known = laneOf(lane);
      expect(known, due);
      known.pausedUntil = pausedUntil;
    },
    pause(webhook, until) {
      const lane = lanes.get(webhook);
      if (lane) lane.pausedUntil = until;
    },
    loosen(webhook) {
      const lane = lanes.get(webhook);
      if (lane && !lane.bucket) lane.closedUntil = 0;
    },
    ready({ now, limit, places }, apart) {
      const open: DueLane[] = [];
      for (const lane of lanes.values()) {
        const { webhook } = lane;
        if (opening(lane) > now || apart.has(webhook)) continue;
        if ((places.of.get(webhook) ?? places.each) > 0) open.push(lane);
      }
      return open.sort((one, other) => turn(one) - turn(other)).slice(0, limit);
    },
    ask(asked) {
      for (const lane of asked) lane.notedDue = Number.POSITIVE_INFINITY;
    },
    settle(webhook, now, { dueAt, pausedUntil, closedUntil, bucket, isClaimed }) {
      const lane = lanes.get(webhook);
      if (!lane) return;
      // What was noted meanwhile may be missing in the answer.
      if (dueAt !== undefined) lane.dueAt = Math.min(lane.notedDue, dueAt);
      if (!Number.isFinite(lane.dueAt)) lanes.delete(webhook);
      lane.pausedUntil = pausedUntil ?? 0;
      lane.closedUntil = closedUntil ?? 0;
      lane.bucket = bucket ?? lane.bucket;
      if (isClaimed) lane.claimedAt = now;
    },
    nextDue(now) {
      let next = Number.POSITIVE_INFINITY;
      for (const lane of lanes.values()) {
        const at = opening(lane);
        if (at > now && at < next) next = at;
      }
      return Number.isFinite(next) ? next : undefined;
    },
  };
}

function newLane(subscriber: number, webhook: string): DueLane {
  return {
    subscriber,
    webhook,
    dueAt: Number.POSITIVE_INFINITY,
    notedDue: Number.POSITIVE_INFINITY,
    pausedUntil: 0,
    closedUntil: 0,
    claimedAt: 0,
    bucket: undefined,
  };
}

function opening({ dueAt, pausedUntil, closedUntil }: DueLane): number {
  return Math.max(dueAt, pausedUntil, closedUntil);
}

/** By it they take turns: one with a long backlog comes behind those that were not dealt to since. */
function turn({ dueAt, pausedUntil, claimedAt }: DueLane): number {
  return Math.max(dueAt, pausedUntil, claimedAt);
}
