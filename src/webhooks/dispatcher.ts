import { setTimeout as pause } from 'node:timers/promises';
import { delivery } from '../limits.ts';
import type { Runtime } from '../runtime.ts';
import { type Attempt, failureOf } from './attempt.ts';
import { createBell } from './bell.ts';
import { type Prepared, prepare } from './delivery.ts';
import { createLanes, type LaneBounds } from './lanes.ts';
import type { Claim, DeliveryOutcome, WebhookStore } from './port.ts';
import { nextAttempt, type Schedule } from './schedule.ts';
import type { Sender } from './sender.ts';

export type DispatcherParts = {
  store: WebhookStore;
  sender: Sender;
  schedule: Schedule;
  runtime: Runtime;
  /** Of this service, for `user-agent`. */
  version: string;
  /** The service's public URL, for `ce-source`. */
  source: string;
  bounds?: Partial<DispatcherBounds>;
};

export type DispatcherBounds = LaneBounds & {
  leaseMs: number;
  pollMs: number;
  drainMs: number;
  storeRetryMs: { first: number; most: number };
};

export type Dispatcher = {
  /**
   * Claims nothing more, waits for what is under way (at most `drainMs`, then ends it), records it, and gives
   * the leases back. May be called twice. Close the sender and the store after it.
   */
  stop(): Promise<void>;
};

/**
 * Sends what the outbox holds, in four stages: claim, prepare, send, record. A delivery whose outcome is not
 * recorded, whatever happens, is claimed again when its lease ends: at least once, never zero times.
 */
export function startDispatcher(parts: DispatcherParts): Dispatcher {
  const { store, sender, schedule, runtime, version, source } = parts;
  const { clock, log } = runtime;
  const bounds: DispatcherBounds = { ...delivery, ...parts.bounds };
  const lanes = createLanes(bounds);
  const bell = createBell();
  const underWay = new Set<Promise<void>>();
  /** Aborted when the dispatcher stops: first claiming, and sending when the drain has lasted too long. */
  const claiming = new AbortController();
  const sending = new AbortController();

  async function run(): Promise<void> {
    await insist('release the leases', () => store.releaseLeases(clock.now()), claiming.signal);
    while (!claiming.signal.aborted) {
      const round = await insist('claim deliveries', claim, claiming.signal);
      if (round === undefined || claiming.signal.aborted) return;
      for (const one of round.claims) begin(one);
      if (!round.more) await bell.rings(await quietMs(round.at));
    }
  }

  /** `more`: as many were found as asked for. Otherwise the others are not due yet, or their lanes are full. */
  async function claim(): Promise<{ at: number; claims: Claim[]; more: boolean }> {
    const at = clock.now();
    const room = lanes.room();
    if (room.limit === 0) return { at, claims: [], more: false };
    const claims = await store.claim({ ...room, now: at, leaseUntil: at + bounds.leaseMs });
    return { at, claims, more: claims.length === room.limit };
  }

  /**
   * How long nothing becomes due, as far as the store can tell; polling finds the rest. What was due before the
   * claim and is still there waits for its lane: whoever leaves the lane rings.
   */
  async function quietMs(claimedAt: number): Promise<number> {
    const next = await store.nextDue().catch(() => undefined);
    if (next === undefined || next <= claimedAt) return bounds.pollMs;
    return Math.min(bounds.pollMs, Math.max(0, next - clock.now()));
  }

  function begin(claim: Claim): void {
    lanes.enter(claim.webhook.id);
    const work = deliver(claim).then((attempt) => {
      lanes.leave(claim.webhook.id, attempt);
      underWay.delete(work);
      bell.ring();
    });
    underWay.add(work);
  }

  /** Undefined when no attempt was made, or when the stop cut it short: then its lease ends, nothing more. */
  async function deliver(claim: Claim): Promise<Attempt | undefined> {
    const prepared = tryToPrepare(claim);
    if (typeof prepared === 'string') {
      await settle(claim, prepared);
      return undefined;
    }
    const attempt = await sender.send(prepared, sending.signal);
    if (attempt.error !== undefined && sending.signal.aborted) return undefined;
    await settle(claim, failureOf(attempt));
    return attempt;
  }

  /** The reason when it fails: that is a failed attempt like any other, so that it holds up nothing behind it. */
  function tryToPrepare(claim: Claim): Prepared | string {
    try {
      return prepare(claim, clock.now(), version, source);
    } catch (error) {
      log.error(
        { err: error, webhook: claim.webhook.id, event: claim.event.id },
        'cannot prepare a delivery',
      );
      return 'The request could not be signed.';
    }
  }

  async function settle(claim: Claim, reason: string | undefined): Promise<void> {
    const now = clock.now();
    const random01 = runtime.random(4).readUInt32BE() / 2 ** 32;
    const next = nextAttempt(schedule, claim.attempts + 1, reason, now, random01);
    const names = { webhook: claim.webhook.id, event: claim.event.id };
    const outcome = { ...next, ...names, fence: claim.fence };
    report(outcome);
    // Past its lease the delivery is claimed again, and its fence makes this outcome void.
    const until = now + bounds.leaseMs;
    const kept = await insist('record an outcome', () => store.record(outcome), sending.signal, until);
    if (kept === false) log.info(names, 'an outcome came too late, or for a webhook that is gone');
  }

  function report({ webhook, event, state, attempts, reason }: DeliveryOutcome): void {
    const context = { webhook, event, attempts, reason };
    if (state === 'delivered') log.debug(context, 'delivered');
    else if (state === 'pending') log.info(context, 'an attempt failed');
    else log.warn(context, 'a delivery failed for good');
  }

  /** Tries a store call until it succeeds, `signal` aborts or the time is over; undefined for the latter two. */
  async function insist<T>(
    what: string,
    call: () => Promise<T>,
    signal: AbortSignal,
    until = Number.POSITIVE_INFINITY,
  ): Promise<T | undefined> {
    let wait = bounds.storeRetryMs.first;
    do {
      try {
        return await call();
      } catch (error) {
        log.warn({ err: error, retryMs: wait }, `could not ${what}`);
      }
      await pause(wait, undefined, { signal }).catch(() => {});
      wait = Math.min(2 * wait, bounds.storeRetryMs.most);
    } while (!signal.aborted && clock.now() < until);
    return undefined;
  }

  async function finish(): Promise<void> {
    claiming.abort();
    bell.ring();
    await loop;
    const drained = new AbortController();
    const bound = pause(bounds.drainMs, undefined, { signal: drained.signal }).catch(() => {});
    await Promise.race([Promise.all(underWay), bound]);
    drained.abort();
    sending.abort();
    await Promise.all(underWay);
    await store.releaseLeases(clock.now()).catch((error: unknown) => {
      log.warn({ err: error }, 'could not release the leases; they end by themselves');
    });
  }

  store.onDue(bell.ring);
  const loop = run();
  let stopped: Promise<void> | undefined;
  return { stop: () => (stopped ??= finish()) };
}
