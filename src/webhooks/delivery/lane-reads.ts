import { newBucket } from './bucket.ts';
import { keyOf, type Lane, type LaneRules, type Reading } from './lane.ts';
import type { DueDelivery, LaneReading, LaneRequest, LaneSettings } from './port.ts';
import { isProbed, noTrouble } from './trouble.ts';

/** What is read of a lane, and when, without I/O. */

export type ReadRules = LaneRules & {
  inAll: number;
  /** Deliveries that are read for each place of a lane. */
  ahead: number;
  /** Deliveries that a person asked for that are read at a time, beyond those under way. */
  asked: number;
  /**
   * A lane that never runs dry is read from its beginning as often: what came late may be before the rest. One whose
   * queue waits is asked as often whether its webhook was changed, and one that is busy whether a hint was lost.
   */
  rereadMs: number;
  /** For each lane so much later: what many lanes cost that only wait has a bound. */
  rereadEachMs: number;
};

/** There may be something in the store that was not read. */
export function lookAt(lane: Lane, at: number): void {
  lane.lookAt = Math.min(lane.lookAt, at);
  if (lane.after && at <= lane.after.due) lane.after = undefined;
  // The reading may have begun before.
  if (lane.reading) lane.reading.lookAt = Math.min(lane.reading.lookAt, at);
}

/** Likewise, that a person asked for. */
export function askAt(lane: Lane, at: number): void {
  lane.askAt = Math.min(lane.askAt, at);
  if (lane.reading) lane.reading.askAt = Math.min(lane.reading.askAt, at);
}

/** @param among how many lanes there are */
export function rereadAt({ readAt }: Lane, among: number, { rereadMs, rereadEachMs }: ReadRules): number {
  return readAt + Math.max(rereadMs, among * rereadEachMs);
}

/**
 * When the lane is to be read next; infinite while that is not known.
 *
 * @param isHeld whether what waits may not be sent before a time
 */
export function readsAt(lane: Lane, isHeld: boolean, among: number, rules: ReadRules, now: number): number {
  const { asked, queue, reading, isEnding } = lane;
  if (reading || isEnding) return Number.POSITIVE_INFINITY;
  // A change of the webhook of which no hint came must not wait until a pause is over.
  const oldAt = asked.length + queue.length > 0 ? rereadAt(lane, among, rules) : Number.POSITIVE_INFINITY;
  const dueAt = isLow(lane, isHeld, rules, now) ? lane.lookAt : Number.POSITIVE_INFINITY;
  // Of many that a person asked for the next part is read when all of the last has begun.
  const isPart = asked.length > 0 && !Number.isFinite(lane.askAt);
  return Math.min(oldAt, dueAt, isPart ? Number.POSITIVE_INFINITY : lane.askAt);
}

/** What waits and may not be sent now is enough for later, and nothing of it is while a person waits. */
function isLow(
  { asked, askAt, queue }: Lane,
  isHeld: boolean,
  { concurrency }: ReadRules,
  now: number,
): boolean {
  return asked.length === 0 && askAt > now && queue.length <= (isHeld ? 0 : concurrency);
}

export function beginReading(
  lane: Lane,
  isHeld: boolean,
  among: number,
  rules: ReadRules,
  now: number,
): LaneRequest {
  const { webhook } = lane;
  if (now - lane.begunAt >= rules.rereadMs) lane.after = undefined;
  if (lane.after === undefined) lane.begunAt = now;
  lane.readAt = now;
  const isDue = isLow(lane, isHeld, rules, now) && now >= lane.lookAt;
  const limit = isDue ? readLimit(lane, among, rules) : 0;
  // Those under way are found once more.
  const askedLimit = rules.asked + lane.underWay.size;
  lane.reading = {
    isStale: false,
    isWhole: isDue && lane.after === undefined,
    limit,
    askedLimit,
    lookAt: Number.POSITIVE_INFINITY,
    askAt: lane.askAt > now ? lane.askAt : Number.POSITIVE_INFINITY,
    recorded: new Set(),
  };
  return { webhook, now, after: lane.after, limit, askedLimit };
}

/** From the beginning what is here already is found once more. */
function readLimit(
  { trouble, bucket, after, underWay, queue }: Lane,
  among: number,
  rules: ReadRules,
): number {
  const { inAll, ahead, concurrency } = rules;
  const most = (isProbed(trouble, rules) || bucket ? 1 : concurrency) * (1 + ahead);
  const fair = Math.ceil((inAll * (1 + ahead)) / among);
  const wanted = Math.min(most, Math.max(2, fair));
  return after === undefined ? wanted + underWay.size + queue.length : wanted;
}

/** Adds what was found and is not here yet. */
export function takeIn(
  lane: Lane,
  reading: Reading,
  found: LaneReading,
  rules: LaneRules,
  now: number,
): void {
  const { settings, asked, due, nextDue } = found;
  lane.askAt = asked.length < reading.askedLimit ? reading.askAt : Number.NEGATIVE_INFINITY;
  if (!settings) {
    close(lane);
    lane.lookAt = reading.lookAt;
    return;
  }
  settle(lane, settings, rules, now);
  // What is not found from the beginning is gone, and what came late has its place.
  if (reading.isWhole) lane.queue = [];
  if (asked.length > 0) dropOutdated(lane, asked, due);
  const here = new Set(lane.queue.map(keyOf));
  // What is not among the first of these any more was asked for again.
  lane.asked = [];
  const add = (queue: DueDelivery[], found: readonly DueDelivery[]): void => {
    for (const delivery of found) {
      const key = keyOf(delivery);
      if (here.has(key) || lane.underWay.has(key) || reading.recorded.has(key)) continue;
      here.add(key);
      const suspicions = lane.noted.get(key) ?? delivery.suspicions;
      queue.push(suspicions === delivery.suspicions ? delivery : { ...delivery, suspicions });
    }
  };
  add(lane.asked, asked);
  if (reading.limit === 0) return;
  add(lane.queue, due);
  const last = due.at(-1);
  const isAll = last === undefined || due.length < reading.limit;
  const isBefore = last !== undefined && reading.lookAt <= last.due;
  lane.after = isAll || isBefore ? undefined : { due: last.due, event: last.event.id };
  const more = isAll ? (nextDue ?? Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY;
  lane.lookAt = Math.min(more, reading.lookAt);
}

/** What was sent again while it waited is sent once: as it was asked for. */
function dropOutdated(lane: Lane, asked: readonly DueDelivery[], due: readonly DueDelivery[]): void {
  const isAsked = new Set(asked.map(({ event }) => event.id));
  const generations = new Map(due.map(({ event, generation }) => [event.id, generation]));
  lane.queue = lane.queue.filter(
    ({ event, generation }) =>
      !isAsked.has(event.id) && (generations.get(event.id) ?? generation) <= generation,
  );
}

/** Of what the store tells, only a change by its owner is newer than what this process has learned of the webhook. */
function settle(lane: Lane, found: LaneSettings, rules: LaneRules, now: number): void {
  const { generation, pausedUntil, failingSince } = found;
  if (lane.standing?.generation !== generation) {
    lane.standing = { generation, pausedUntil, failingSince };
    lane.trouble = noTrouble();
  }
  lane.settings = { ...found, ...lane.standing };
  setRate(lane, found.rate, rules, now);
}

/** A lane that is taken over begins with an empty bucket: the one before may have drawn from it just now. */
function setRate(lane: Lane, rate: number | undefined, rules: LaneRules, now: number): void {
  if (rate === lane.bucket?.rate) return;
  const tokens = lane.isInherited ? 0 : (lane.bucket?.tokens ?? Number.POSITIVE_INFINITY);
  lane.bucket = rate === undefined ? undefined : newBucket(rate, tokens, rules, now);
}

/** The webhook was changed: nothing of what was read holds. */
export function forget(lane: Lane): void {
  lane.settings = undefined;
  lane.changes++;
  readAgain(lane);
}

/** What is waiting is read again from the beginning. */
export function readAgain(lane: Lane): void {
  lane.asked = [];
  lane.queue = [];
  lane.after = undefined;
  lane.lookAt = Number.NEGATIVE_INFINITY;
  if (lane.reading) lane.reading.isStale = true;
}

/** What is waiting is sent no more, until the webhook is changed. */
export function close(lane: Lane): void {
  readAgain(lane);
  lane.settings = undefined;
  lane.lookAt = Number.POSITIVE_INFINITY;
}
