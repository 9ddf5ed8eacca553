import { setTimeout as pause } from 'node:timers/promises';
import { delivery } from '../limits.ts';
import type { LaneReading, Measures } from '../measures.ts';
import { type Runtime, steadyClock } from '../runtime.ts';
import { type Attempt, failureOf } from './attempt.ts';
import { createBell } from './bell.ts';
import { createLanes, type LaneBounds, type LaneEnd } from './lanes.ts';
import { type OutcomeRules, outcomeOf } from './outcome.ts';
import type { Claim, DeliveryOutcome, Outbox, Recorded } from './port.ts';
import type { QueueingSender } from './queueing-sender.ts';
import { timeText } from './time.ts';

export type DispatcherParts = {
  outbox: Outbox;
  sender: QueueingSender;
  rules: OutcomeRules;
  /** Requests under way to one webhook. */
  concurrency: number;
  runtime: Runtime;
  measures?: Measures | undefined;
  bounds?: Partial<DispatcherBounds>;
};

export type DispatcherBounds = Omit<LaneBounds, 'perWebhook'> & {
  leaseMs: number;
  pollMs: number;
  drainMs: number;
  storeRetryMs: { first: number; most: number };
};

export type Dispatcher = {
  /** How much is under way, and how many webhooks are sent less than there could be. At once. */
  lanes(): LaneReading;
  /**
   * Claims nothing more, waits for what is under way (at most `drainMs`, then ends it), records it, and gives
   * the leases back. May be called twice. Close the store after it.
   */
  stop(): Promise<void>;
};

/**
 * Sends what the outbox holds, in stages: claim, send (which prepares the request), record. A delivery whose outcome
 * is not recorded, whatever happens, is claimed again when its lease ends: at least once, never zero times.
 */
export function startDispatcher({
  outbox,
  sender,
  rules,
  concurrency,
  runtime,
  measures,
  ...parts
}: DispatcherParts): Dispatcher {
  const { log } = runtime;
  const clock = steadyClock(runtime.clock);
  const bounds: DispatcherBounds = { ...delivery, ...parts.bounds };
  const lanes = createLanes({ ...bounds, perWebhook: concurrency });
  const bell = createBell();
  const underWay = createCount();
  /** Aborted when the dispatcher stops: first claiming, and sending when the drain has lasted too long. */
  const claiming = new AbortController();
  const sending = new AbortController();

  async function run(): Promise<void> {
    await insist('release the leases', () => outbox.releaseLeases(clock.now()), claiming.signal);
    while (!claiming.signal.aborted) {
      const round = await insist('claim deliveries', claim, claiming.signal);
      if (round === undefined || claiming.signal.aborted) return;
      for (const one of round.claims) begin(one);
      if (!round.more) await bell.rings(await quietMs(round));
    }
  }

  type Round = { at: number; claims: Claim[]; more: boolean };

  /**
   * `more`: as many were found as asked for, or a lane with a rate, which is claimed for little by little. Otherwise
   * the others are not due yet, or their lanes are full.
   */
  async function claim(): Promise<Round> {
    const at = clock.now();
    const { limit, places } = lanes.room(at);
    if (limit === 0) return { at, claims: [], more: false };
    const claims = await outbox.claim({ limit, places, now: at, leaseUntil: at + bounds.leaseMs });
    const more = claims.length === limit || claims.some(({ webhook }) => webhook.rate !== undefined);
    return { at, claims, more };
  }

  /**
   * How long nothing can be claimed, as far as can be told; polling finds the rest. What was due before the claim
   * and is still there waits for its lane: one that opens, or one that somebody leaves, who rings.
   */
  async function quietMs({ at }: Round): Promise<number> {
    const due = await outbox.nextDue(at).catch(() => undefined);
    const now = clock.now();
    const next = Math.min(lanes.opensAt(now) ?? Number.POSITIVE_INFINITY, due ?? Number.POSITIVE_INFINITY);
    return Math.min(bounds.pollMs, Math.max(0, next - now));
  }

  function begin(claim: Claim): void {
    underWay.enter();
    void start(claim).then(underWay.leave);
  }

  function start(claim: Claim): Promise<unknown> {
    const now = clock.now();
    // It was claimed before the store knew that the webhook is to be left alone.
    if (lanes.isHeld(claim.webhook.id, now)) return giveBack(claim);
    lanes.enter(claim.webhook, now);
    return deliver(claim);
  }

  function giveBack(claim: Claim): Promise<unknown> {
    measures?.attemptNotMade();
    return insist('give a claim back', () => outbox.giveBack(claim), sending.signal, claim.leaseUntil);
  }

  async function deliver(claim: Claim): Promise<void> {
    const attempt = await trySending(claim);
    // Cut short by the stop: nothing is known of it.
    const isMade = attempt !== undefined && !(attempt.error !== undefined && sending.signal.aborted);
    lanes.leave(claim.webhook.id, isMade ? endOf(attempt) : 'not made', clock.now());
    bell.ring();
    if (isMade) await settle(claim, attempt);
    else await giveBack(claim);
  }

  /** Undefined also when the machine cannot give what sending needs, such as a thread: then it is tried again. */
  async function trySending(claim: Claim): Promise<Attempt | undefined> {
    try {
      return await sender.send(claim);
    } catch (error) {
      log.error({ err: error }, 'could not send');
      lanes.hold(claim.webhook.id, clock.now() + bounds.pollMs);
      return undefined;
    }
  }

  async function settle(claim: Claim, attempt: Attempt): Promise<void> {
    const now = clock.now();
    const outcome = outcomeOf(claim, attempt, rules, now, runtime.random(4).readUInt32BE() / 2 ** 32);
    const { next } = outcome;
    report(outcome);
    measures?.attemptEnded(next.state === 'pending' ? 'retrying' : next.state, outcome.attempt.durationMs);
    const until = now + bounds.leaseMs;
    const isToBeLeftAlone = outcome.pauseUntil !== undefined || outcome.disable !== undefined;
    if (isToBeLeftAlone) lanes.hold(outcome.webhook, until);
    const recorded = await insist('record an outcome', () => outbox.record(outcome), sending.signal, until);
    // The store knows now; claims that were made before may still be on their way.
    if (isToBeLeftAlone) lanes.hold(outcome.webhook, clock.now() + bounds.pollMs);
    // The next attempt may be due before the store is asked again.
    if (next.state === 'pending') bell.ring();
    if (recorded !== undefined) follow(outcome, recorded);
  }

  /** Of many attempts that were under way together only one pauses, or disables, their webhook. */
  function follow({ webhook, event, pauseUntil, disable }: DeliveryOutcome, recorded: Recorded): void {
    if (recorded === 'late') {
      const reason = 'an outcome came too late, or for a delivery that was sent again or is gone';
      log.info({ webhook, event }, reason);
    } else if (recorded === 'paused') {
      measures?.webhookPaused();
      log.info({ webhook, pausedUntil: pauseUntil && timeText(pauseUntil) }, 'a webhook pauses');
    } else if (recorded === 'disabled') {
      measures?.webhookDisabled();
      log.warn({ webhook, reason: disable?.reason }, 'a webhook was disabled');
    }
  }

  function report({ webhook, event, attempt, reason, next }: DeliveryOutcome): void {
    const { status, durationMs } = attempt;
    const context = { webhook, event, status, durationMs, reason };
    if (next.state === 'delivered') log.debug(context, 'delivered');
    else if (next.state === 'pending') log.info(context, 'an attempt failed');
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
        // The tries behind the first one fail for the same reason.
        const level = wait === bounds.storeRetryMs.first ? 'warn' : 'debug';
        log[level]({ err: error, retryMs: wait }, `could not ${what}`);
      }
      await pause(wait, undefined, { signal }).catch(() => {});
      wait = Math.min(2 * wait, bounds.storeRetryMs.most);
    } while (!signal.aborted && clock.now() < until);
    return undefined;
  }

  async function finish(): Promise<void> {
    claiming.abort();
    sender.drain();
    bell.ring();
    await loop;
    const drained = new AbortController();
    const bound = pause(bounds.drainMs, undefined, { signal: drained.signal }).catch(() => {});
    await Promise.race([underWay.none(), bound]);
    drained.abort();
    sending.abort();
    await sender.stop();
    await underWay.none();
    await outbox.releaseLeases(clock.now()).catch((error: unknown) => {
      log.warn({ err: error }, 'could not release the leases; they end by themselves');
    });
  }

  outbox.onDue(bell.ring);
  outbox.onChange(sender.dismiss);
  const loop = run();
  let stopped: Promise<void> | undefined;
  return {
    lanes: () => lanes.reading(clock.now()),
    stop: () => (stopped ??= finish()),
  };
}

function endOf(attempt: Attempt): LaneEnd {
  if (attempt.error !== undefined) return 'silence';
  return failureOf(attempt) === undefined ? 'success' : 'failure';
}

/**
 * Counts what is under way. A Set of it, whose entries come and go with each delivery, would keep V8 from freeing them
 * before the next full collection.
 */
function createCount() {
  let count = 0;
  let ended: PromiseWithResolvers<void> | undefined;
  return {
    enter(): void {
      count++;
    },
    leave(): void {
      count--;
      if (count === 0) ended?.resolve();
    },
    /** Resolves when nothing is under way. */
    none(): Promise<void> {
      if (count === 0) return Promise.resolve();
      ended ??= Promise.withResolvers();
      return ended.promise;
    },
  };
}
