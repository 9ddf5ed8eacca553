import { admitsAt, type Bucket, type BucketRules, isFull } from './bucket.ts';
import type { DueDelivery, LaneSettings, Position, Standing } from './port.ts';
import { isProbed, noTrouble, type Trouble, type TroubleRules } from './trouble.ts';

/**
 * One lane and its rules, without I/O: what may be sent now, and when what may not be sent now may be.
 *
 * - At most `width` requests are under way, in order.
 * - A lane whose last attempt got no whole answer is silent, and one that fails again and again is probed: one request at
 *   a time; when it is probed, with growing pauses. The first success opens it.
 * - A lane with a rate begins no more requests than that in a second.
 * - What a person asked for goes first. One place is kept for it, also while the lane is silent or probed; a pause and a
 *   rate hold for it, too.
 * - After an unclean end the first deliveries are sent one at a time, as many as may have been under way: one of them may
 *   have ended the process. Those that were answered, but not recorded, may come before them: then each unclean end gets
 *   as many deliveries further, until what ends processes is among the first.
 */
export type Lane = {
  readonly webhook: string;
  readonly fence: number;
  /** Undefined until it was read, and when nothing may be sent. */
  settings: LaneSettings | undefined;
  /** How the webhook stands by what this owner has learned: the store may not know yet. */
  standing: Omit<Standing, 'disabledReason'> | undefined;
  /** Whether an outcome that disables the webhook is not recorded yet: until then the store believes it to be enabled. */
  isEnding: boolean;
  /** Whether it is handed over when nothing of it is under way. */
  isLeaving: boolean;
  asked: DueDelivery[];
  queue: DueDelivery[];
  /** Where the next read of the queue goes on; undefined for the beginning. */
  after: Position | undefined;
  /** When the lane was last read from the beginning, and at all. */
  begunAt: number;
  readAt: number;
  /** When there may be more in the store than was read. */
  lookAt: number;
  /** When there may be something that a person asked for and was not read: until then nothing of the queue begins. */
  askAt: number;
  reading: Reading | undefined;
  /** Being sent, or not recorded yet, by event and generation. */
  underWay: Map<string, DueDelivery>;
  sending: number;
  /** Which of these has the place that is kept for what a person asked for. */
  reserved: DueDelivery | undefined;
  /** Whether one is sent that must be alone in its lane. */
  isAlone: boolean;
  /** How many of those that were due when it was taken are still to be sent one at a time. */
  careful: number;
  readonly takenAt: number;
  /** Suspicions of what was noted since the lane is owned, from before: this process has not ended by it. */
  noted: Map<string, number>;
  /** How often its webhook was changed since the lane is owned. */
  changes: number;
  trouble: Trouble;
  bucket: Bucket | undefined;
  /** Whether it has just been taken from another process, which may have used its rate. */
  isInherited: boolean;
};

/** A read of the store that has begun. What was recorded meanwhile may still be part of what it finds. */
export type Reading = {
  isStale: boolean;
  /** Whether all that waits here is part of what it finds, unless it is gone. */
  isWhole: boolean;
  /** 0 when only what a person asked for is read. */
  limit: number;
  askedLimit: number;
  /** When there may be more, by what was heard since it began. */
  lookAt: number;
  askAt: number;
  recorded: Set<string>;
};

export type LaneRules = TroubleRules &
  BucketRules & {
    /** Requests under way to one webhook. */
    concurrency: number;
  };

export function newLane(
  webhook: string,
  { fence, isInherited, careful, takenAt }: Pick<Lane, 'fence' | 'isInherited' | 'careful' | 'takenAt'>,
): Lane {
  return {
    webhook,
    fence,
    settings: undefined,
    standing: undefined,
    isEnding: false,
    isLeaving: false,
    asked: [],
    queue: [],
    after: undefined,
    begunAt: Number.NEGATIVE_INFINITY,
    readAt: Number.NEGATIVE_INFINITY,
    lookAt: Number.NEGATIVE_INFINITY,
    askAt: Number.POSITIVE_INFINITY,
    reading: undefined,
    underWay: new Map(),
    sending: 0,
    reserved: undefined,
    isAlone: false,
    careful,
    takenAt,
    noted: new Map(),
    changes: 0,
    trouble: noTrouble(),
    bucket: undefined,
    isInherited,
  };
}

/** Two generations of a delivery may be under way together: what was under way when it was sent again. */
export function keyOf({ event, generation }: { event: { id: string }; generation: number }): string {
  return `${event.id} ${generation}`;
}

/** Why the lane's next delivery cannot be sent now: undefined when it can, else when that may have changed. */
export type Hindrance =
  /** At a time. */
  | { until: number }
  /** When an attempt of this lane ends, or the lane is read. */
  | 'itself'
  /** When a place is free. */
  | 'places';

/**
 * The next delivery that may be sent, or why none may.
 *
 * @param width requests that may be under way, by what other lanes leave; 0 when only what a person asked for has a place
 */
export function nextOf(lane: Lane, width: number, rules: LaneRules, now: number): DueDelivery | Hindrance {
  const { settings, asked, askAt, queue, trouble, sending, reserved } = lane;
  const next = asked[0] ?? (askAt <= now ? undefined : queue[0]);
  if (!settings || !next || lane.isAlone) return 'itself';
  const admitted = admittedAt(lane, settings, now);
  if (admitted > now) return { until: admitted };
  if (sending > 0 && (lane.careful > 0 || next.suspicions > 0)) return 'itself';
  if (next.isAsked && !reserved) return next;
  if (now < trouble.opensAt) return { until: trouble.opensAt };
  const ordinary = reserved ? sending - 1 : sending;
  if (ordinary >= (isProbed(trouble, rules) ? 1 : rules.concurrency)) return 'itself';
  if (ordinary < width) return next;
  return sending > 0 ? 'itself' : 'places';
}

/** When the pause and the rate admit a request. */
function admittedAt({ bucket }: Lane, { pausedUntil = 0 }: LaneSettings, now: number): number {
  if (pausedUntil > now) return pausedUntil;
  return bucket ? admitsAt(bucket, now) : now;
}

/** Takes the delivery, which `nextOf` gave, out of the lane's queues. */
export function begin(lane: Lane, delivery: DueDelivery): void {
  const from = delivery.isAsked ? lane.asked : lane.queue;
  from.shift();
  lane.underWay.set(keyOf(delivery), delivery);
  lane.sending++;
  if (delivery.isAsked) lane.reserved ??= delivery;
  lane.isAlone = lane.careful > 0 || delivery.suspicions > 0;
  if (lane.bucket) lane.bucket.tokens--;
}

/**
 * The delivery is no longer sent; it stays under way until it is recorded.
 *
 * @param wasSent this process has not ended by it
 */
export function leave(lane: Lane, delivery: DueDelivery, wasSent: boolean): void {
  lane.sending--;
  if (lane.reserved === delivery) lane.reserved = undefined;
  if (wasSent && lane.careful > 0 && delivery.due <= lane.takenAt) lane.careful--;
  lane.isAlone = false;
}

/** What an attempt has told of the webhook itself, with the generation that it still has. */
export function setStanding(lane: Lane, { generation, pausedUntil, failingSince }: Standing): void {
  lane.standing = { generation, pausedUntil, failingSince };
  if (lane.settings) lane.settings = { ...lane.settings, pausedUntil, failingSince };
}

export function isBusy({ asked, queue, underWay }: Lane): boolean {
  return asked.length + queue.length + underWay.size > 0;
}

/**
 * Whether little is lost when it is forgotten: a new lane would be the same.
 *
 * @param troubledMs how long after its last attempt trouble is remembered
 */
export function isAsNew(lane: Lane, troubledMs: number, now: number): boolean {
  return (
    !isBusy(lane) &&
    lane.reading === undefined &&
    (lane.trouble.failures === 0 || now - lane.trouble.lastAt >= troubledMs) &&
    (lane.bucket === undefined || isFull(lane.bucket, now))
  );
}
