import type { DueDelivery, LaneRequest, LaneSettings, LaneState, Position } from './port.ts';
import type { Rules } from './rules.ts';
import { isProbed, noTrouble, type Trouble } from './trouble.ts';

/**
 * One lane and its rules, without I/O: what may be sent now, and when the rest may be.
 * - At most `width` requests are in flight, in order.
 * - A lane whose last attempt got no complete response is silent; a lane that fails repeatedly is probed. Both send
 *   one request at a time, a probed lane with growing pauses. The first success ends it.
 * - A lane with a rate starts no more requests per second than that.
 * - Manual deliveries go first. One slot is reserved for them, even while the lane is silent or probed; pauses and
 *   rates apply to them, too.
 * - After an unclean exit, the first deliveries are noted before they are sent, until as many are recorded as may have
 *   been in flight: one of them may have killed the process. Deliveries that were answered but not recorded may come
 *   before them; then each unclean exit gets that many deliveries further, until the cause is among the first. What
 *   becomes due afterwards was not in flight.
 * - What was noted when a process ended is sent alone. What is requested afterwards does not wait for it.
 */
export type Lane = {
  readonly webhook: string;
  readonly fence: number;
  /** As read; undefined until then, and when nothing may be sent. */
  settings: LaneSettings | undefined;
  /** The state of the webhook as this owner knows it: the store may not know yet. */
  state: LaneState | undefined;
  /** Whether to hand it over when none of its requests is in flight. */
  isLeaving: boolean;
  asked: DueDelivery[];
  queue: DueDelivery[];
  /** Where the next read of the queue continues; undefined for the beginning. */
  after: Position | undefined;
  /** When the lane was last read from the beginning, and at all. */
  begunAt: number;
  readAt: number;
  /** When the store may contain more than was read. */
  moreAt: number;
  /** When the store may contain unread manual deliveries: until they are read, nothing of the queue starts. */
  manualAt: number;
  reading: ReadInProgress | undefined;
  /** In flight or not yet recorded, by event and generation. */
  underWay: Map<string, DueDelivery>;
  inFlight: number;
  /** The manual delivery in the reserved slot. */
  reserved: DueDelivery | undefined;
  /** The delivery in flight beside which only a new manual one may start. */
  alone: DueDelivery | undefined;
  /** Whether one of its deliveries may have ended the process that owned it. After a clean end, none did. */
  readonly isSuspect: boolean;
  /** Until this many more are recorded, what was due when the lane was taken is noted before it is sent. */
  careful: number;
  readonly takenAt: number;
  /** Earlier suspicions of deliveries noted since the lane was taken: this process survived sending them. */
  noted: Map<string, number>;
  /** How often its webhook changed, was paused, disabled or found in trouble since the lane was taken. */
  changes: number;
  trouble: Trouble;
  bucket: Bucket | undefined;
  /** Whether it was just taken from another process, which may have used its rate. */
  isInherited: boolean;
};

/** A read in progress. Its result may include deliveries recorded meanwhile. */
export type ReadInProgress = {
  /** Its limit is 0 when only manual deliveries are read. */
  request: LaneRequest;
  isStale: boolean;
  /** When there may be more, by what was reported since it began. */
  moreAt: number;
  manualAt: number;
  recorded: Set<string>;
};

export function newLane(of: Pick<Lane, 'webhook' | 'fence' | 'isInherited' | 'careful' | 'takenAt'>): Lane {
  return {
    ...of,
    settings: undefined,
    state: undefined,
    isLeaving: false,
    asked: [],
    queue: [],
    after: undefined,
    begunAt: -Infinity,
    readAt: -Infinity,
    moreAt: -Infinity,
    manualAt: Infinity,
    reading: undefined,
    underWay: new Map(),
    inFlight: 0,
    reserved: undefined,
    alone: undefined,
    isSuspect: of.careful > 0,
    noted: new Map(),
    changes: 0,
    trouble: noTrouble(),
    bucket: undefined,
  };
}

/** Two generations of a delivery may be in flight at the same time: a redelivery does not wait for the first. */
export function keyOf({ event, generation }: { event: { id: string }; generation: number }): string {
  return `${event.id} ${generation}`;
}

/** Why the lane's next delivery cannot be sent now, with when that may change; undefined when it can be sent. */
type Hindrance =
  /** At a time. */
  | { until: number }
  /** When an attempt of this lane ends, or the lane is read. */
  | 'itself'
  /** When a slot is free. */
  | 'slots';

/**
 * @param width the requests allowed in flight, given the other lanes; 0 when only manual deliveries have a slot
 * @returns the next delivery that may be sent, or why none may
 */
export function nextOf(lane: Lane, width: number, rules: Rules, now: number): DueDelivery | Hindrance {
  const { settings, asked, manualAt, queue, trouble, inFlight, reserved } = lane;
  const next = asked[0] ?? (manualAt <= now ? undefined : queue[0]);
  if (!settings || !next || mustWait(lane, next)) return 'itself';
  const admitted = admittedAt(lane, now);
  if (admitted > now) return { until: admitted };
  if (next.isAsked && !reserved) return next;
  if (now < trouble.opensAt) return { until: trouble.opensAt };
  const ordinary = reserved ? inFlight - 1 : inFlight;
  if (ordinary >= (isProbed(trouble, rules) ? 1 : rules.concurrency)) return 'itself';
  if (ordinary < width) return next;
  return inFlight > 0 ? 'itself' : 'slots';
}

/** Whether one of the two must be sent alone: this delivery or what is in flight. */
function mustWait(lane: Lane, next: DueDelivery): boolean {
  const { alone, inFlight, reserved, takenAt } = lane;
  const isNew = next.isAsked && next.due > takenAt && next.suspicions === 0;
  if (isNew && !reserved) return false;
  return alone !== undefined || (inFlight > 0 && next.suspicions > 0);
}

/** Whether it may have ended a process. What became due later was not in flight then. */
export function mustBeNoted({ careful, takenAt }: Lane, { due, suspicions }: DueDelivery): boolean {
  return suspicions > 0 || (careful > 0 && due <= takenAt);
}

/** When the pause and the rate admit a request. */
function admittedAt(lane: Lane, now: number): number {
  const { pausedUntil = 0 } = lane.state ?? {};
  if (pausedUntil > now) return pausedUntil;
  return lane.bucket ? admitsAt(lane.bucket, now) : now;
}

/** Removes a delivery returned by `nextOf` from the lane's queues. */
export function begin(lane: Lane, delivery: DueDelivery): void {
  const from = delivery.isAsked ? lane.asked : lane.queue;
  from.shift();
  lane.underWay.set(keyOf(delivery), delivery);
  lane.inFlight++;
  if (delivery.isAsked) lane.reserved ??= delivery;
  if (delivery.suspicions > 0) lane.alone ??= delivery;
  if (lane.bucket) lane.bucket.tokens--;
}

/** The request has ended; the delivery stays in `underWay` until it is recorded. */
export function leave(lane: Lane, delivery: DueDelivery): void {
  lane.inFlight--;
  if (lane.reserved === delivery) lane.reserved = undefined;
  if (lane.alone === delivery) lane.alone = undefined;
}

export function isBusy({ asked, queue, underWay }: Lane): boolean {
  return asked.length + queue.length + underWay.size > 0;
}

/** Whether a new lane would be the same, so that forgetting this one loses little. */
export function isAsNew(lane: Lane, troubledMs: number, now: number): boolean {
  return (
    !isBusy(lane) &&
    lane.reading === undefined &&
    (lane.trouble.failures === 0 || now - lane.trouble.lastAt >= troubledMs) &&
    (lane.bucket === undefined || isFull(lane.bucket, now))
  );
}

/** A token bucket: each request takes a token, and tokens are refilled at the webhook's rate. */
type Bucket = { readonly rate: number; readonly most: number; tokens: number; filledAt: number };

/** @param tokens how many tokens it starts with */
export function newBucket(rate: number, tokens: number, { rateBurst }: Rules, now: number): Bucket {
  const most = Math.max(1, Math.floor(rate * rateBurst));
  return { rate, most, tokens: Math.min(most, tokens), filledAt: now };
}

/** When a token is available. */
function admitsAt(bucket: Bucket, now: number): number {
  fill(bucket, now);
  return bucket.tokens >= 1 ? now : now + Math.ceil(((1 - bucket.tokens) * 1000) / bucket.rate);
}

function isFull(bucket: Bucket, now: number): boolean {
  fill(bucket, now);
  return bucket.tokens >= bucket.most;
}

function fill(bucket: Bucket, now: number): void {
  // A clock that was set back must not stop the flow.
  const passed = Math.max(0, now - bucket.filledAt);
  bucket.tokens = Math.min(bucket.most, bucket.tokens + (passed / 1000) * bucket.rate);
  bucket.filledAt = now;
}
