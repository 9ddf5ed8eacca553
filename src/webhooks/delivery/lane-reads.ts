import { keyOf, type Lane, newBucket, type ReadInProgress } from './lane.ts';
import type { DueDelivery, LaneContents, LaneRequest, LaneSettings } from './port.ts';
import type { Rules } from './rules.ts';
import { isProbed, noTrouble } from './trouble.ts';

/** The store may contain something not yet read. */
export function expectMore(lane: Lane, at: number): void {
  lane.moreAt = Math.min(lane.moreAt, at);
  if (lane.after && at <= lane.after.due) lane.after = undefined;
  // The read in progress may have begun before.
  if (lane.reading) lane.reading.moreAt = Math.min(lane.reading.moreAt, at);
}

/** Like `expectMore`, for a manual delivery. */
export function expectManual(lane: Lane, at: number): void {
  lane.manualAt = Math.min(lane.manualAt, at);
  if (lane.reading) lane.reading.manualAt = Math.min(lane.reading.manualAt, at);
}

/**
 * When to check a waiting lane for a changed webhook, and a busy one for a lost hint.
 * @param among the number of lanes
 */
export function rereadAt({ readAt }: Lane, among: number, { rereadMs, rereadEachMs }: Rules): number {
  return readAt + Math.max(rereadMs, among * rereadEachMs);
}

/**
 * @param isHeld whether nothing that waits may be sent before some time
 * @returns when to read the lane next; infinite while unknown
 */
export function readsAt(lane: Lane, isHeld: boolean, among: number, rules: Rules, now: number): number {
  const { asked, queue, reading } = lane;
  if (reading) return Infinity;
  // A change of the webhook whose hint was lost must not wait until a pause is over.
  const oldAt = asked.length + queue.length > 0 ? rereadAt(lane, among, rules) : Infinity;
  const dueAt = isLow(lane, isHeld, rules, now) ? lane.moreAt : Infinity;
  // The next part of many manual deliveries is read when all of the last part have started.
  const isPart = asked.length > 0 && !Number.isFinite(lane.manualAt);
  return Math.min(oldAt, dueAt, isPart ? Infinity : lane.manualAt);
}

/** Deliveries that may not be sent now suffice for later, unless a manual delivery waits to be read. */
function isLow(
  { asked, manualAt, queue }: Lane,
  isHeld: boolean,
  { concurrency }: Rules,
  now: number,
): boolean {
  return asked.length === 0 && manualAt > now && queue.length <= (isHeld ? 0 : concurrency);
}

export function beginReading(
  lane: Lane,
  isHeld: boolean,
  among: number,
  rules: Rules,
  now: number,
): LaneRequest {
  const { webhook } = lane;
  if (now - lane.begunAt >= rules.rereadMs) lane.after = undefined;
  if (lane.after === undefined) lane.begunAt = now;
  lane.readAt = now;
  const isDue = isLow(lane, isHeld, rules, now) && now >= lane.moreAt;
  const limit = isDue ? readLimit(lane, among, rules) : 0;
  // The read finds those in flight again.
  const askedLimit = rules.asked + lane.underWay.size;
  const request = { webhook, now, after: lane.after, limit, askedLimit };
  const manualAt = lane.manualAt > now ? lane.manualAt : Infinity;
  lane.reading = { request, isStale: false, moreAt: Infinity, manualAt, recorded: new Set() };
  return request;
}

/** A read from the beginning finds known deliveries again. */
function readLimit({ trouble, bucket, after, underWay, queue }: Lane, among: number, rules: Rules): number {
  const { inAll, ahead, concurrency } = rules;
  const most = (isProbed(trouble, rules) || bucket ? 1 : concurrency) * (1 + ahead);
  const fair = Math.ceil((inAll * (1 + ahead)) / among);
  const wanted = Math.min(most, Math.max(2, fair));
  return after === undefined ? wanted + underWay.size + queue.length : wanted;
}

export function takeIn(
  lane: Lane,
  reading: ReadInProgress,
  found: LaneContents,
  rules: Rules,
  now: number,
): void {
  const { asked, due, through, nextDue } = found;
  const { after, limit, askedLimit } = reading.request;
  const settings = isDisabled(lane, found.settings) ? undefined : found.settings;
  const isPart = settings && asked.length >= askedLimit;
  lane.manualAt = isPart ? -Infinity : reading.manualAt;
  if (!settings) {
    close(lane);
    lane.moreAt = reading.moreAt;
    return;
  }
  settle(lane, settings, rules, now);
  // A delivery that a read from the beginning did not find is gone, and a late one now has its place.
  if (limit > 0 && after === undefined) lane.queue = [];
  if (asked.length > 0) dropOutdated(lane, asked, due);
  const here = new Set(lane.queue.map(keyOf));
  // A delivery no longer among the first of these was requested again.
  lane.asked = [];
  const add = (queue: DueDelivery[], found: readonly DueDelivery[]): void => {
    for (const delivery of found) {
      const key = keyOf(delivery);
      if (here.has(key) || lane.underWay.has(key) || reading.recorded.has(key)) continue;
      here.add(key);
      const known = lane.noted.get(key) ?? delivery.suspicions;
      const suspicions = lane.isSuspect ? Math.min(known, delivery.suspicions) : 0;
      queue.push(suspicions === delivery.suspicions ? delivery : { ...delivery, suspicions });
    }
  };
  add(lane.asked, asked);
  if (limit === 0) return;
  add(lane.queue, due);
  const final = due.at(-1);
  const last = through ?? (final && { due: final.due, event: final.event.id });
  const isAll = last === undefined || (!through && due.length < limit);
  const isBefore = last !== undefined && reading.moreAt <= last.due;
  lane.after = isAll || isBefore ? undefined : last;
  const more = isAll ? (nextDue ?? Infinity) : -Infinity;
  lane.moreAt = Math.min(more, reading.moreAt);
}

/** Whether the webhook was disabled and not enabled since, even if the store does not know yet. */
function isDisabled({ state }: Lane, found: LaneSettings | undefined): boolean {
  return state?.disabledReason !== undefined && state.generation === found?.generation;
}

/** A delivery that was redelivered while it waited is sent once: as a manual one. */
function dropOutdated(lane: Lane, asked: readonly DueDelivery[], due: readonly DueDelivery[]): void {
  const isAsked = new Set(asked.map(({ event }) => event.id));
  const generations = new Map(due.map(({ event, generation }) => [event.id, generation]));
  lane.queue = lane.queue.filter(
    ({ event, generation }) =>
      !isAsked.has(event.id) && (generations.get(event.id) ?? generation) <= generation,
  );
}

/** Only a change by its owner makes the store's state of the webhook newer than what this process knows. */
function settle(lane: Lane, found: LaneSettings, rules: Rules, now: number): void {
  const { generation, pausedUntil, failingSince, rate } = found;
  if (lane.state?.generation !== generation) {
    lane.state = { generation, pausedUntil, failingSince, disabledReason: undefined };
    lane.trouble = noTrouble();
  }
  lane.settings = found;
  if (rate === lane.bucket?.rate) return;
  // A lane taken over starts with an empty bucket: its previous owner may just have used the rate.
  const tokens = lane.isInherited ? 0 : (lane.bucket?.tokens ?? Infinity);
  lane.bucket = rate === undefined ? undefined : newBucket(rate, tokens, rules, now);
}

/** The webhook was changed: discard everything read. */
export function forget(lane: Lane): void {
  lane.settings = undefined;
  lane.changes++;
  readAgain(lane);
}

/** Reads the waiting deliveries again from the beginning. */
export function readAgain(lane: Lane): void {
  lane.asked = [];
  lane.queue = [];
  lane.after = undefined;
  lane.moreAt = -Infinity;
  if (lane.reading) lane.reading.isStale = true;
}

/** Sends nothing more until the webhook is changed. */
export function close(lane: Lane): void {
  forget(lane);
  lane.moreAt = Infinity;
}
