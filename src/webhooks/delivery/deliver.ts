import { AppError, type ErrorCode } from '../../errors.ts';
import { delivery as limits } from '../../limits.ts';
import { type Runtime, throttle } from '../../runtime.ts';
import { isShortage } from '../sending/attempt.ts';
import type { Sender } from '../sending/sender.ts';
import { createDispatch, type Dispatch, type Effect, type TakenLane } from './dispatch.ts';
import type { LaneStore, Work } from './port.ts';
import { createReports, type DeliveryMeasures } from './reports.ts';
import type { InFlight } from './requests.ts';
import type { DeliverySettings, Rules } from './rules.ts';
import { pause, systemTimers, type Timers } from './timers.ts';

/** The owners of lanes, as this process sees them: it may be one of several that send from the same store. */
export type LaneOwners = {
  /** Tries to take the lanes and resolves with those owned now. Rejects when the owners are unknown: retry then. */
  take(webhooks: readonly string[]): Promise<readonly TakenLane[]>;
  /** @param isUsed false for lanes that have nothing to do and have sent nothing for a while */
  giveBack(webhooks: readonly string[], isUsed: boolean): Promise<void>;
  /** Absent when there are no other processes. There is one listener. */
  listen?(listener: OwnerListener): void;
  /** Whether deliveries of this lane may be sent now: its lease may be about to end. */
  mayServe(webhook: string): boolean;
  /** Takes no more lanes and leaves them to others. */
  drain(): Promise<void>;
  /** Gives all lanes back, so that others continue at once. May be called twice. */
  stop(): Promise<void>;
};

export type OwnerListener = {
  /** This process no longer owns these lanes. */
  lost(webhooks: readonly string[]): void;
  /** These lanes are for others: they are given back as soon as none of their requests is in flight. */
  leave(webhooks: readonly string[]): void;
  /** Another process has gone: the next search finds its lanes. */
  gone(): void;
};

export type DeliverOptions = DeliverySettings & {
  store: LaneStore;
  owners: LaneOwners;
  sender: Sender;
  /** `clock`: the one that due times refer to. It never goes back. */
  runtime: Pick<Runtime, 'clock' | 'random' | 'log'>;
  timers?: Timers | undefined;
  measures?: DeliveryMeasures | undefined;
  /** Overrides the limits of the service. */
  bounds?: Partial<Rules>;
};

export type Runner = ReturnType<typeof deliver>;

/** Sends what is due in the lanes that this process owns: carries out the decisions of the rules (`dispatch.ts`). */
export function deliver({ store, owners, sender, runtime, measures, ...options }: DeliverOptions) {
  const { clock, log } = runtime;
  const { timers = systemTimers, bounds, ...settings } = options;
  const random = () => runtime.random(4).readUInt32BE() / 2 ** 32;
  const rules: Rules = { ...limits, ...bounds, ...settings, random };
  const dispatch = createDispatch(rules);
  const report = createReports(log, measures);
  const isTold = throttle(rules.complainEveryMs, timers.elapsed);
  const stopped = new AbortController();
  let searchNow = () => {};
  let cancelTimer = () => {};
  let isTurning = false;
  let isOver = false;
  let hasFailed = false;
  /** Whether requests in flight are being ended. */
  let isCutting = false;
  let onIdle = () => {};

  /** Acts on the result of each call; calls in one turn of the event loop are combined. */
  function tell(event: (dispatch: Dispatch, now: number) => void): void {
    event(dispatch, clock.now());
    if (isTurning) return;
    isTurning = true;
    timers.soon(turn);
  }

  function turn(): void {
    isTurning = false;
    if (isOver) return;
    cancelTimer();
    const now = clock.now();
    const effects = dispatch.advance(now);
    void take(lanesOf(effects, 'take'));
    giveBack(lanesOf(effects, 'handOver'), true);
    for (const effect of effects) {
      if (effect.do === 'read') void read(effect);
      else if (effect.do === 'suspect') void suspect(effect.request);
      else if (effect.do === 'send') void send(effect.request);
      else if (effect.do === 'record') void record(effect);
    }
    const wakeAt = dispatch.wakeAt();
    if (wakeAt !== undefined) cancelTimer = timers.later(turn, Math.max(0, wakeAt - clock.now()));
    if (dispatch.isIdle()) onIdle();
  }

  async function take(webhooks: readonly string[]): Promise<void> {
    if (webhooks.length === 0) return;
    const taken = await owners.take(webhooks).catch((error: unknown) => {
      log.warn({ err: error }, 'could not take lanes');
      return [];
    });
    const refused = new Set(webhooks);
    tell((dispatch, now) => {
      for (const lane of taken) {
        refused.delete(lane.webhook);
        dispatch.taken(lane, now);
      }
      dispatch.lost(refused);
    });
  }

  function giveBack(webhooks: readonly string[], isUsed: boolean): void {
    if (webhooks.length === 0) return;
    void tried('give lanes back', owners.giveBack(webhooks, isUsed));
  }

  async function read({ fence, request }: Extract<Effect, { do: 'read' }>): Promise<void> {
    const found = await tried('read a lane', store.read(request));
    tell((dispatch, now) => dispatch.hasRead(request.webhook, fence, found, now));
  }

  async function suspect(request: InFlight): Promise<void> {
    const { webhook, delivery } = request;
    const { event, generation, suspicions } = delivery;
    const noting = store.suspect(webhook, event.id, generation, suspicions + 1).then(() => true);
    const isWritten = await tried('note a delivery', noting);
    tell((dispatch, now) => dispatch.suspected(request, isWritten ?? false, now));
  }

  async function send(request: InFlight): Promise<void> {
    const { webhook: id, settings, delivery } = request;
    const { event, trace, step } = delivery;
    const sendable = { webhook: { id, ...settings }, event, trace, step: Math.max(0, step) };
    // After a suspension this process may have lost the lane without knowing.
    const isOwn = owners.mayServe(id);
    const sending = isOwn ? sender.send(sendable) : undefined;
    const attempt = await sending?.catch((error: unknown) => {
      if (!isShortage(error)) log.error({ err: error }, 'could not send');
      else if (isTold())
        log.warn({ err: error }, 'this machine cannot connect to receivers; deliveries wait');
      return undefined;
    });
    if (attempt === undefined) measures?.happened('notMade');
    // A request that the stop cut short is sent again after the next start.
    const isCut = attempt?.error !== undefined && isCutting;
    tell((dispatch, now) => dispatch.ended(request, isCut ? undefined : attempt, now));
  }

  async function record({ outcomes, waitMs }: Extract<Effect, { do: 'record' }>): Promise<void> {
    const begin = timers.elapsed();
    let failures: ErrorCode[] = [];
    const recording = store.record(outcomes).catch((error: unknown) => {
      failures = outcomes.map(() => (error instanceof AppError ? error.code : 50000));
      throw error;
    });
    const results = await tried('record outcomes', recording);
    const commitMs = timers.elapsed() - begin;
    measures?.batchEnded('dispatch', { commands: outcomes.length, waitMs, commitMs, failures });
    if (results) report(outcomes, results);
    tell((dispatch, now) => dispatch.recorded(results, now));
  }

  /** Undefined after a failure. Logs only the first as a warning: the retries fail for the same reason. */
  function tried<T>(what: string, call: Promise<T>): Promise<T | undefined> {
    return call.catch((error: unknown) => {
      log[hasFailed ? 'debug' : 'warn']({ err: error }, `could not ${what}`);
      hasFailed = true;
      return undefined;
    });
  }

  async function search(): Promise<void> {
    while (!stopped.signal.aborted) {
      // A failed search found nothing, however long it took: repeat it soon.
      const tookMs = (await tried('search for work', searchOnce())) ?? 0;
      // A store that stalled once must not delay the next search for minutes.
      const wait = Math.min(9 * tookMs, LONGEST_SEARCHES * rules.searchMs);
      await pauseSearching(Math.max(rules.searchMs, wait));
    }
  }

  /** Returns how long it took, in milliseconds. */
  async function searchOnce(): Promise<number> {
    const begin = timers.elapsed();
    for await (const work of workIn(store, rules.searchedTogether)) {
      tell((dispatch, now) => dispatch.found(work, now));
      if (stopped.signal.aborted) break;
    }
    hasFailed = false;
    return timers.elapsed() - begin;
  }

  async function pauseSearching(ms: number): Promise<void> {
    const over = new AbortController();
    searchNow = () => over.abort();
    if (!stopped.signal.aborted) await pause(timers, ms, over.signal);
  }

  async function giveBackIdle(): Promise<void> {
    while (!stopped.signal.aborted) {
      await pause(timers, rules.lingerMs, stopped.signal);
      if (!stopped.signal.aborted)
        tell((dispatch, now) => giveBack(dispatch.release(now + rules.lingerMs, now), false));
    }
  }

  async function finish(): Promise<void> {
    const drained = owners.drain();
    stopped.abort();
    searchNow();
    const { promise, resolve } = Promise.withResolvers<void>();
    onIdle = resolve;
    tell((dispatch) => dispatch.drain());
    await within(rules.drainMs, promise);
    isCutting = true;
    await sender.stop();
    // Records outcomes of ended requests, but does not wait for a store that never answers.
    await within(rules.lastRecordMs, promise);
    cancelTimer();
    isOver = true;
    // A database that is silent must not delay the stop.
    await within(rules.lastRecordMs, Promise.all([drained, searching, lingering]));
    await owners.stop();
  }

  async function within(ms: number, end: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    await Promise.race([end, pause(timers, ms, over.signal)]);
    over.abort();
  }

  store.listen(({ work, changed }) => {
    // Most news of other replicas is of lanes that are not this one's.
    if (work.length + changed.length === 0) return;
    tell((dispatch, now) => {
      for (const webhook of changed) dispatch.changed(webhook);
      dispatch.work(work, now);
    });
  });
  owners.listen?.({
    lost: (webhooks) => tell((dispatch) => dispatch.lost(webhooks)),
    leave: (webhooks) => tell((dispatch) => dispatch.leave(webhooks)),
    gone: () => searchNow(),
  });
  const searching = search();
  const lingering = giveBackIdle();
  let stopping: Promise<void> | undefined;
  return {
    counts: () => dispatch.counts(clock.now()),
    queue: () => dispatch.queue(clock.now()),
    /** Starts nothing more, waits up to `drainMs` for requests in flight, then ends them, and records the outcomes. */
    stop: () => (stopping ??= finish()),
  };
}

/** The lanes that have work, a part at a time. */
export async function* workIn(
  { findWork }: Pick<LaneStore, 'findWork'>,
  together: number,
): AsyncGenerator<Work[]> {
  for (let after: string | undefined; ; ) {
    const work = await findWork(after, together);
    yield work;
    after = work.at(-1)?.webhook;
    if (work.length < together) return;
  }
}

function lanesOf(effects: readonly Effect[], what: 'take' | 'handOver'): string[] {
  return effects.flatMap((effect) => (effect.do === what ? [effect.webhook] : []));
}

/** The longest pause between searches, as a multiple of the usual one. */
const LONGEST_SEARCHES = 2;
