import { delivery as limits } from '../../limits.ts';
import type { LaneCounts } from '../../observability/port.ts';
import type { Runtime } from '../../runtime.ts';
import type { Attempt } from '../sending/attempt.ts';
import type { Sendable } from '../sending/request.ts';
import { createDispatch, type Dispatch, type Effect, type TakenLane } from './dispatch.ts';
import type { LaneStore, Outcome } from './port.ts';
import { createReports, type DeliveryMeasures } from './reports.ts';
import type { InFlight } from './requests.ts';
import type { Rules } from './rules.ts';
import { pause, systemTimers, type Timers } from './timers.ts';

/** The owners of lanes, as this process sees them: it may be one of several that send from the same store. */
export type LaneOwners = {
  /** Tries to take the lanes and resolves with those owned now. Rejects when the owners are unknown: retry then. */
  take(webhooks: readonly string[]): Promise<readonly TakenLane[]>;
  /** @param isUsed false for lanes that have nothing to do and have sent nothing for a while */
  giveBack(webhooks: readonly string[], isUsed: boolean): Promise<void>;
  /** Calls back with lanes that this process no longer owns. */
  onLost(listener: (webhooks: readonly string[]) => void): void;
  /** Calls back with lanes for others: they are given back as soon as none of their requests is in flight. */
  onLeave?(listener: (webhooks: readonly string[]) => void): void;
  /** Calls back when another process has gone: the next search finds its lanes. */
  onGone?(listener: () => void): void;
  /** Whether deliveries of this lane may be sent now: its lease may be about to end. */
  mayServe(webhook: string): boolean;
  /** Takes no more lanes and leaves them to others. */
  drain(): Promise<void>;
  /** Gives all lanes back, so that others continue at once. May be called twice. */
  stop(): Promise<void>;
};

export type DeliverOptions = Pick<Rules, 'schedule' | 'disableAfterMs' | 'concurrency'> & {
  store: LaneStore;
  owners: LaneOwners;
  sender: {
    /** Undefined if no request was made. Rejects when the machine lacks the resources to send. */
    send(request: Sendable): Promise<Attempt | undefined>;
    /** Ends the requests in flight. */
    stop(): Promise<void>;
  };
  /** `clock`: the one that due times refer to. It never goes back. */
  runtime: Pick<Runtime, 'clock' | 'random' | 'log'>;
  timers?: Timers | undefined;
  measures?: DeliveryMeasures | undefined;
  /** Overrides the limits of the service. */
  bounds?: Partial<Rules>;
};

export type Runner = {
  counts(): LaneCounts;
  /** Starts nothing more, waits up to `drainMs` for requests in flight, then ends them, and records the outcomes. */
  stop(): Promise<void>;
};

/** Sends what is due in the lanes that this process owns: carries out the decisions of the rules (`dispatch.ts`). */
export function deliver({ store, owners, sender, runtime, measures, ...options }: DeliverOptions): Runner {
  const { clock, log } = runtime;
  const { schedule, disableAfterMs, concurrency, timers = systemTimers, bounds } = options;
  const random = () => runtime.random(4).readUInt32BE() / 2 ** 32;
  const rules: Rules = { ...limits, ...bounds, schedule, disableAfterMs, concurrency, random };
  const dispatch = createDispatch(rules);
  const report = createReports(log, measures);
  const stopped = new AbortController();
  let searchNow = () => {};
  let cancelTimer = () => {};
  let isTurning = false;
  let isOver = false;
  let hasFailed = false;
  /** Whether requests in flight are being ended. */
  let isCutting = false;
  let idle: { resolve(): void } | undefined;

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
      else if (effect.do === 'record') void record(effect.outcomes);
    }
    const wakeAt = dispatch.wakeAt();
    if (wakeAt !== undefined) cancelTimer = timers.later(turn, Math.max(0, wakeAt - clock.now()));
    if (dispatch.isIdle()) idle?.resolve();
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
      for (const webhook of refused) dispatch.lost(webhook);
    });
  }

  function giveBack(webhooks: readonly string[], isUsed: boolean): void {
    if (webhooks.length === 0) return;
    owners.giveBack(webhooks, isUsed).catch((error: unknown) => failed('give lanes back', error));
  }

  async function read({ fence, request }: Extract<Effect, { do: 'read' }>): Promise<void> {
    const found = await store.read(request).catch((error: unknown) => {
      failed('read a lane', error);
      return undefined;
    });
    tell((dispatch, now) => dispatch.hasRead(request.webhook, fence, found, now));
  }

  async function suspect(request: InFlight): Promise<void> {
    const { webhook, delivery } = request;
    const { event, generation, suspicions } = delivery;
    const isWritten = await store.suspect(webhook, event.id, generation, suspicions + 1).then(
      () => true,
      (error: unknown) => {
        failed('note a delivery', error);
        return false;
      },
    );
    tell((dispatch, now) => dispatch.suspected(request, isWritten, now));
  }

  async function send(request: InFlight): Promise<void> {
    const { webhook: id, settings, delivery } = request;
    const { event, trace, step } = delivery;
    const sendable = { webhook: { id, ...settings }, event, trace, step: Math.max(0, step) };
    // After a suspension this process may have lost the lane without knowing.
    const isOwn = owners.mayServe(id);
    const sending = isOwn ? sender.send(sendable) : undefined;
    const attempt = await sending?.catch((error: unknown) => {
      log.error({ err: error }, 'could not send');
      return undefined;
    });
    if (attempt === undefined) measures?.attemptNotMade();
    // A request that the stop cut short is sent again after the next start.
    const isCut = attempt?.error !== undefined && isCutting;
    tell((dispatch, now) => dispatch.ended(request, isCut ? undefined : attempt, now));
  }

  async function record(outcomes: readonly Outcome[]): Promise<void> {
    const results = await store.record(outcomes).catch((error: unknown) => {
      failed('record outcomes', error);
      return undefined;
    });
    if (results) report(outcomes, results);
    tell((dispatch, now) => dispatch.recorded(results, now));
  }

  /** Logs only the first failure as a warning: the retries fail for the same reason. */
  function failed(what: string, error: unknown): void {
    log[hasFailed ? 'debug' : 'warn']({ err: error }, `could not ${what}`);
    hasFailed = true;
  }

  async function search(): Promise<void> {
    while (!stopped.signal.aborted) {
      const begin = timers.elapsed();
      let tookMs = 0;
      try {
        for (let after: string | undefined; ; ) {
          const work = await store.findWork(after, rules.searchedTogether);
          tell((dispatch, now) => dispatch.found(work, now));
          after = work.at(-1)?.webhook;
          if (work.length < rules.searchedTogether || stopped.signal.aborted) break;
        }
        hasFailed = false;
        tookMs = timers.elapsed() - begin;
      } catch (error) {
        // A failed search found nothing, however long it took: repeat it soon.
        failed('search for work', error);
      }
      // A store that stalled once must not delay the next search for minutes.
      const wait = Math.min(9 * tookMs, LONGEST_SEARCHES * rules.searchMs);
      await pauseSearching(Math.max(rules.searchMs, wait));
    }
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
    await owners.drain();
    stopped.abort();
    searchNow();
    const { promise, resolve } = Promise.withResolvers<void>();
    idle = { resolve };
    tell((dispatch) => dispatch.drain());
    await within(rules.drainMs, promise);
    isCutting = true;
    await sender.stop();
    // Records outcomes of ended requests, but does not wait for a store that never answers.
    await within(rules.lastRecordMs, promise);
    cancelTimer();
    isOver = true;
    await Promise.all([searching, lingering]);
    await owners.stop();
  }

  async function within(ms: number, end: Promise<void>): Promise<void> {
    const over = new AbortController();
    await Promise.race([end, pause(timers, ms, over.signal)]);
    over.abort();
  }

  store.onWork((work) => tell((dispatch, now) => dispatch.work(work, now)));
  store.onChange((webhook) => tell((dispatch) => dispatch.changed(webhook)));
  owners.onLost((webhooks) =>
    tell((dispatch) => {
      for (const webhook of webhooks) dispatch.lost(webhook);
    }),
  );
  owners.onLeave?.((webhooks) =>
    tell((dispatch) => {
      for (const webhook of webhooks) dispatch.leave(webhook);
    }),
  );
  owners.onGone?.(() => searchNow());
  const searching = search();
  const lingering = giveBackIdle();
  let stopping: Promise<void> | undefined;
  return {
    counts: () => dispatch.counts(clock.now()),
    stop: () => (stopping ??= finish()),
  };
}

function lanesOf(effects: readonly Effect[], what: 'take' | 'handOver'): string[] {
  return effects.flatMap((effect) => (effect.do === what ? [effect.webhook] : []));
}

/** The longest pause between searches, as a multiple of the usual one. */
const LONGEST_SEARCHES = 2;
