import { type Attempt, failureOf } from '../attempt.ts';
import {
  type AttemptEnd,
  begin,
  close,
  forget,
  isAsNew,
  isBusy,
  isProbed,
  keyOf,
  type Lane,
  type LaneRules,
  learn,
  leave,
  newLane,
  nextOf,
  readAgain,
  readsAskedAt,
  setStanding,
  takeIn,
} from './lane.ts';
import { createLedger, type LedgerRules } from './ledger.ts';
import { type OutcomeRules, outcomeOf, poisonedOutcome, type Sent } from './outcome.ts';
import type { DueDelivery, LaneReading, LaneRequest, Outcome, Recorded, Work } from './port.ts';
import { createWakes } from './wakes.ts';

/**
 * Which deliveries are sent, and when: the rules over all lanes of a process, without I/O. What happened is told to it,
 * with the time; `advance` then says what is to be done. The same calls always lead to the same effects.
 */
export type Dispatch = {
  /** Lanes have work. Those that are not owned are asked for (`take`). */
  work(work: readonly Work[], now: number): void;
  /** A search found lanes that have work: the hint of it may have been lost, or it is what they have already. */
  found(work: readonly Work[], now: number): void;
  /** A lane is this process's own from now on. */
  taken(lane: TakenLane, now: number): void;
  /** A lane was not given, or is another's. What is under way is not recorded. */
  lost(webhook: string): void;
  /** A webhook was deleted, or is sent to elsewhere, or not, or again. */
  changed(webhook: string): void;
  /** A lane is to be handed over: nothing more of it begins, and it is given back when all that began is recorded. */
  leave(webhook: string): void;
  /** A `read` ended; undefined when the store failed. */
  hasRead(webhook: string, fence: number, reading: LaneReading | undefined, now: number): void;
  /** A `suspect` was written down; false when the store failed. */
  suspected(sending: Sending, isWritten: boolean, now: number): void;
  /** A `send` ended; undefined for an attempt that was not made. */
  ended(sending: Sending, attempt: Attempt | undefined, now: number): void;
  /** A `record` ended; undefined when the store failed. */
  recorded(results: readonly Recorded[] | undefined, now: number): void;
  /** Begins nothing more; outcomes are still recorded. */
  drain(): void;
  /** What is to be done now. */
  advance(now: number): Effect[];
  /** When `advance` has something to do although nothing happened. */
  wakeAt(): number | undefined;
  /** Whether nothing is being sent or recorded. */
  isIdle(): boolean;
  /** Gives back lanes that have nothing to do before this time. */
  release(until: number, now: number): void;
  reading(now: number): DispatchReading;
};

export type TakenLane = Pick<Lane, 'webhook' | 'fence' | 'isInherited'> & {
  /** Whether the one before may have been ended by what it sent. */
  isSuspect: boolean;
};

/** One request. */
export type Sending = Sent & {
  /** Whether the lane was silent when it began, and how often its webhook had been changed. */
  isSilent: boolean;
  changes: number;
};

export type Effect =
  | { do: 'take'; webhook: string }
  /** `isUsed`: the next owner must take it that something was sent just now. */
  | { do: 'giveBack'; webhooks: readonly string[]; isUsed: boolean }
  | { do: 'read'; fence: number; request: LaneRequest }
  | { do: 'suspect'; sending: Sending }
  | { do: 'send'; sending: Sending }
  | { do: 'record'; outcomes: readonly Outcome[] };

/** How lanes stand: each counts once, as the first that is true of it. */
export type DispatchReading = { underWay: number; silent: number; failing: number };

export type DispatchRules = LaneRules &
  LedgerRules &
  OutcomeRules & {
    /** Requests under way in all. One more may be under way that a person asked for. */
    inAll: number;
    /** Of the free places, how many one lane may take. */
    share: number;
    /** Deliveries that are read for each place of a lane. */
    ahead: number;
    /** Deliveries that a person asked for that are read at a time, beyond those under way. */
    asked: number;
    /** Lanes that are read at the same time. */
    readsAtOnce: number;
    /**
     * A lane that never runs dry is read from its beginning as often: what came late may be before the rest. One whose
     * queue waits is asked as often whether its webhook was changed, and one that is busy whether a hint was lost.
     */
    rereadMs: number;
    /** For each lane so much later: what many lanes cost that only wait has a bound. */
    rereadEachMs: number;
    /** How long a lane waits when a request could not be made. */
    notMadeMs: number;
    /** How often a process may end uncleanly while it sends a delivery until that is given up. */
    suspicions: number;
    /** How long after its last attempt a lane counts in a reading, and its trouble is remembered. */
    troubledMs: number;
    /** From 0 to 1, for the spread of delays. */
    random(): number;
  };

export function createDispatch(rules: DispatchRules): Dispatch {
  const lanes = new Map<string, Lane>();
  /** Lanes that are not owned, and when the first of their deliveries is due. */
  const wanted = createWakes<string>();
  const asking = new Set<string>();
  const wakes = createWakes<Lane>();
  /** Lanes that may have something to do now, in turn. */
  const ready = new Set<Lane>();
  const places = { taken: 0, silent: 0, suspicious: 0, reads: 0 };
  const ledger = createLedger(rules);
  const written: Sending[] = [];
  const given = { idle: [] as string[], used: [] as string[] };
  let isDraining = false;

  const isSilentFree = () => places.silent < rules.inAll / 2;
  /** Lanes that wait, in turn, for something that all lanes share, and whether there is some of it. */
  const waiting = {
    read: queueFor(() => places.reads < rules.readsAtOnce),
    ledger: queueFor(() => !ledger.isFull()),
    suspicious: queueFor(() => places.suspicious === 0),
    asked: queueFor(() => places.taken <= rules.inAll),
    silent: queueFor(() => places.taken < rules.inAll && isSilentFree()),
    place: queueFor(() => places.taken < rules.inAll),
  };
  const queues = Object.values(waiting);

  function ownLane({ webhook, fence }: { webhook: string; fence: number }): Lane | undefined {
    const lane = lanes.get(webhook);
    return lane?.fence === fence ? lane : undefined;
  }

  function drop(lane: Lane): void {
    lanes.delete(lane.webhook);
    wakes.clear(lane);
    ready.delete(lane);
    for (const { lanes } of queues) lanes.delete(lane);
  }

  /** There may be something in the store that was not read. */
  function lookAt(lane: Lane, at: number): void {
    lane.lookAt = Math.min(lane.lookAt, at);
    // The reading may have begun before.
    if (lane.reading) lane.reading.lookAt = Math.min(lane.reading.lookAt, at);
    ready.add(lane);
  }

  function askAt(lane: Lane, at: number): void {
    lane.askAt = Math.min(lane.askAt, at);
    if (lane.reading) lane.reading.askAt = Math.min(lane.reading.askAt, at);
  }

  /** Begins what the lane may do now: one request, so that lanes take turns. */
  function serve(lane: Lane, now: number, effects: Effect[]): void {
    if (isDraining) return;
    if (lane.isLeaving) {
      handOver(lane);
      return;
    }
    const next = nextOf(lane, widthFor(lane), rules, now);
    const until = typeof next === 'object' && 'until' in next ? next.until : Number.POSITIVE_INFINITY;
    const lookAt = read(lane, Number.isFinite(until), now, effects);
    if (next === 'places')
      waiting[lane.trouble.isSilent && !isSilentFree() ? 'silent' : 'place'].lanes.add(lane);
    else if (typeof next === 'object' && !('until' in next)) beginOrWait(lane, next, now, effects);
    const wakeAt = Math.min(lookAt, until);
    if (Number.isFinite(wakeAt)) wakes.set(lane, wakeAt);
  }

  function handOver(lane: Lane): void {
    if (lane.underWay.size > 0) return;
    drop(lane);
    given.used.push(lane.webhook);
  }

  function widthFor(lane: Lane): number {
    const free = rules.inAll - places.taken;
    // The silent ones together take at most half of the places.
    if (free <= 0 || (lane.trouble.isSilent && !isSilentFree())) return 0;
    return Math.max(1, Math.floor(free * rules.share));
  }

  function beginOrWait(lane: Lane, next: DueDelivery, now: number, effects: Effect[]): void {
    if (ledger.isFull()) waiting.ledger.lanes.add(lane);
    else if (next.suspicions > 0 && places.suspicious > 0) waiting.suspicious.lanes.add(lane);
    else if (places.taken > rules.inAll || (places.taken === rules.inAll && !next.isAsked)) {
      waiting[next.isAsked ? 'asked' : 'place'].lanes.add(lane);
    } else {
      start(lane, next, now, effects);
      ready.add(lane);
    }
  }

  function start(lane: Lane, delivery: DueDelivery, now: number, effects: Effect[]): void {
    const { webhook, fence, settings } = lane;
    // `nextOf` gives nothing of a lane without.
    if (!settings) return;
    const { isSilent } = lane.trouble;
    const sending = { webhook, fence, delivery, settings, isSilent, changes: lane.changes };
    begin(lane, delivery);
    if (delivery.suspicions >= rules.suspicions) {
      leave(lane, delivery, true);
      ledger.add(poisonedOutcome(sending, now));
      return;
    }
    places.taken++;
    if (isSilent) places.silent++;
    if (delivery.suspicions > 0) places.suspicious++;
    if (lane.isAlone) lane.noted.set(keyOf(delivery), delivery.suspicions);
    effects.push({ do: lane.isAlone ? 'suspect' : 'send', sending });
  }

  function end({ delivery, isSilent, ...of }: Sending, wasSent: boolean): Lane | undefined {
    places.taken--;
    if (isSilent) places.silent--;
    if (delivery.suspicions > 0) places.suspicious--;
    const lane = ownLane(of);
    if (!lane) return undefined;
    leave(lane, delivery, wasSent);
    ready.add(lane);
    return lane;
  }

  /** Those that wait for what has become free, in turn: each either takes it, or waits for something else. */
  function letIn(now: number, effects: Effect[]): void {
    for (const { lanes, isFree } of queues) {
      for (const lane of lanes) {
        if (!isFree()) break;
        lanes.delete(lane);
        serve(lane, now, effects);
        if (lanes.has(lane)) break;
      }
    }
  }

  /** What an attempt means for the whole lane. */
  function follow(lane: Lane, { attempt, standing }: Outcome): Outcome['begins'] {
    const wasPaused = (lane.standing?.pausedUntil ?? 0) > attempt.at;
    setStanding(lane, standing);
    if (standing.disabledReason !== undefined) {
      if (lane.isEnding) return undefined;
      lane.isEnding = true;
      close(lane);
      return 'end';
    }
    return !wasPaused && (standing.pausedUntil ?? 0) > attempt.at ? 'pause' : undefined;
  }

  /** It stays in the store. */
  function putBack(lane: Lane, delivery: DueDelivery, until: number): void {
    lane.underWay.delete(keyOf(delivery));
    readAgain(lane);
    lane.lookAt = until;
  }

  /** Nothing was sent. */
  function giveUp(sending: Sending, now: number): void {
    const lane = end(sending, false);
    if (lane) putBack(lane, sending.delivery, now);
  }

  /** What was noted is sent, unless the lane was lost or the webhook changed meanwhile. */
  function sendWritten(now: number, effects: Effect[]): void {
    for (const sending of written.splice(0)) {
      if (ownLane(sending)?.changes === sending.changes) effects.push({ do: 'send', sending });
      else giveUp(sending, now);
    }
  }

  /**
   * Reads what may be in the store. Returns when it may have to be looked at next; infinite while that is not known.
   *
   * @param isHeld whether what waits may not be sent before a time
   */
  function read(lane: Lane, isHeld: boolean, now: number, effects: Effect[]): number {
    if (lane.reading || lane.isEnding) return Number.POSITIVE_INFINITY;
    // What waits and may not be sent now is enough for later, and nothing of it is while a person waits.
    const isTurn = lane.asked.length === 0 && lane.askAt > now;
    const isLow = isTurn && lane.queue.length <= (isHeld ? 0 : rules.concurrency);
    // A change of the webhook of which no hint came must not wait until a pause is over.
    const oldAt = lane.asked.length + lane.queue.length > 0 ? rereadAt(lane) : Number.POSITIVE_INFINITY;
    const lookAt = Math.min(oldAt, readsAskedAt(lane), isLow ? lane.lookAt : Number.POSITIVE_INFINITY);
    if (now < lookAt) return lookAt;
    if (now < ledger.retryAt()) return ledger.retryAt();
    if (places.reads >= rules.readsAtOnce) {
      waiting.read.lanes.add(lane);
      return Number.POSITIVE_INFINITY;
    }
    beginReading(lane, isLow && now >= lane.lookAt, now, effects);
    return Number.POSITIVE_INFINITY;
  }

  const rereadAt = ({ readAt }: Lane) => readAt + Math.max(rules.rereadMs, lanes.size * rules.rereadEachMs);

  function beginReading(lane: Lane, isLow: boolean, now: number, effects: Effect[]): void {
    if (now - lane.begunAt >= rules.rereadMs) lane.after = undefined;
    if (lane.after === undefined) lane.begunAt = now;
    lane.readAt = now;
    places.reads++;
    const limit = isLow ? readLimit(lane) : 0;
    // Those under way are found once more.
    const askedLimit = rules.asked + lane.underWay.size;
    lane.reading = {
      isStale: false,
      limit,
      askedLimit,
      lookAt: Number.POSITIVE_INFINITY,
      askAt: lane.askAt > now ? lane.askAt : Number.POSITIVE_INFINITY,
      recorded: new Set(),
    };
    const request = { webhook: lane.webhook, now, after: lane.after, limit, askedLimit };
    effects.push({ do: 'read', fence: lane.fence, request });
  }

  /** From the beginning what is here already is found once more. */
  function readLimit(lane: Lane): number {
    const most = (isProbed(lane, rules) || lane.bucket ? 1 : rules.concurrency) * (1 + rules.ahead);
    const fair = Math.ceil((rules.inAll * (1 + rules.ahead)) / lanes.size);
    const wanted = Math.min(most, Math.max(2, fair));
    return lane.after === undefined ? wanted + lane.underWay.size + lane.queue.length : wanted;
  }

  function giveBack(effects: Effect[]): void {
    for (const [webhooks, isUsed] of [
      [given.idle.splice(0), false],
      [given.used.splice(0), true],
    ] as const) {
      if (webhooks.length > 0) effects.push({ do: 'giveBack', webhooks, isUsed });
    }
  }

  function settleOutcome(outcome: Outcome, result: Recorded): void {
    const lane = ownLane(outcome);
    if (!lane) return;
    if (result === 'lost') {
      drop(lane);
      return;
    }
    const key = keyOf({ event: { id: outcome.event }, generation: outcome.generation });
    lane.underWay.delete(key);
    lane.noted.delete(key);
    lane.reading?.recorded.add(key);
    if (outcome.begins === 'end') {
      lane.isEnding = false;
      lookAt(lane, Number.NEGATIVE_INFINITY);
    }
    if (result === 'settled' && outcome.next.state === 'pending') lookAt(lane, outcome.next.due);
    else if (result === 'anew' || result === 'late') lookAt(lane, Number.NEGATIVE_INFINITY);
    ready.add(lane);
  }

  function hear(work: readonly Work[], now: number, isSearch: boolean): void {
    for (const { webhook, due = now, isAsked } of work) {
      const lane = lanes.get(webhook);
      if (lane) {
        if (isAsked) askAt(lane, due);
        lookAt(lane, isSearch && isBusy(lane) ? Math.max(due, rereadAt(lane)) : due);
      } else if (!asking.has(webhook)) wanted.set(webhook, Math.min(wanted.at(webhook) ?? due, due));
    }
  }

  return {
    work: (work, now) => hear(work, now, false),
    found: (work, now) => hear(work, now, true),

    taken({ webhook, fence, isInherited, isSuspect }, now) {
      asking.delete(webhook);
      wanted.clear(webhook);
      const known = lanes.get(webhook);
      if (known?.fence === fence) return;
      if (known) drop(known);
      // With the one that a person asked for.
      const careful = isSuspect ? rules.concurrency + 1 : 0;
      const lane = newLane(webhook, { fence, isInherited, careful, takenAt: now });
      lanes.set(webhook, lane);
      lookAt(lane, now);
    },

    lost(webhook) {
      asking.delete(webhook);
      const lane = lanes.get(webhook);
      if (lane) drop(lane);
    },

    changed(webhook) {
      const lane = lanes.get(webhook);
      if (!lane) return;
      forget(lane);
      ready.add(lane);
    },

    leave(webhook) {
      const lane = lanes.get(webhook);
      if (!lane) return;
      lane.isLeaving = true;
      forget(lane);
      ready.add(lane);
    },

    hasRead(webhook, fence, found, now) {
      places.reads--;
      const lane = ownLane({ webhook, fence });
      const reading = lane?.reading;
      if (!lane || !reading) return;
      lane.reading = undefined;
      if (!found) ledger.failed(now);
      else if (!reading.isStale) takeIn(lane, reading, found, rules, now);
      ready.add(lane);
    },

    suspected(sending, isWritten, now) {
      if (!isWritten) ledger.failed(now);
      if (isWritten && !isDraining) written.push(sending);
      else giveUp(sending, now);
    },

    ended(sending, attempt, now) {
      const lane = end(sending, attempt !== undefined);
      if (!lane) return;
      if (!attempt) {
        putBack(lane, sending.delivery, now + rules.notMadeMs);
        return;
      }
      // What an attempt to the URL before says of the webhook is void.
      const isVoid = lane.standing?.generation !== sending.settings.generation;
      const standing = isVoid ? sending.settings : { ...sending.settings, ...lane.standing };
      const outcome = outcomeOf({ ...sending, settings: standing }, attempt, rules, now, rules.random());
      if (!isVoid) learn(lane, endOf(attempt), rules, now);
      ledger.add(isVoid ? outcome : { ...outcome, begins: follow(lane, outcome) });
    },

    recorded(results, now) {
      const outcomes = ledger.recorded(results !== undefined, now);
      for (const [index, outcome] of outcomes.entries()) settleOutcome(outcome, results?.[index] ?? 'gone');
    },

    drain() {
      isDraining = true;
    },

    advance(now) {
      const effects: Effect[] = [];
      sendWritten(now, effects);
      if (!isDraining) {
        for (const webhook of wanted.due(now)) {
          asking.add(webhook);
          effects.push({ do: 'take', webhook });
        }
      }
      for (const lane of wakes.due(now)) ready.add(lane);
      letIn(now, effects);
      // One that is added meanwhile has its turn after the others.
      for (const lane of ready) {
        ready.delete(lane);
        serve(lane, now, effects);
      }
      giveBack(effects);
      const outcomes = ledger.next(now);
      if (outcomes) effects.push({ do: 'record', outcomes });
      return effects;
    },

    wakeAt() {
      const times = isDraining ? [] : [wanted.next(), wakes.next()];
      const known = [...times, ledger.wakeAt()].filter((at) => at !== undefined);
      return known.length > 0 ? Math.min(...known) : undefined;
    },

    isIdle: () => places.taken === 0 && ledger.isEmpty(),

    release(until, now) {
      const idle = [...lanes.values()].filter(
        (lane) => lane.lookAt >= until && isAsNew(lane, rules.troubledMs, now),
      );
      for (const lane of idle) {
        drop(lane);
        given.idle.push(lane.webhook);
        if (Number.isFinite(lane.lookAt)) wanted.set(lane.webhook, lane.lookAt);
      }
    },

    reading(now) {
      // Nothing is due, or the webhook is gone: it delays nothing.
      const troubled = [...lanes.values()].filter(
        ({ sending, trouble }) => sending > 0 || now - trouble.lastAt < rules.troubledMs,
      );
      const silent = troubled.filter(({ trouble }) => trouble.isSilent).length;
      const failing = troubled.filter((lane) => !lane.trouble.isSilent && isProbed(lane, rules)).length;
      return { underWay: places.taken, silent, failing };
    },
  };
}

function queueFor(isFree: () => boolean) {
  return { lanes: new Set<Lane>(), isFree };
}

function endOf(attempt: Attempt): AttemptEnd {
  if (attempt.error !== undefined) return 'silence';
  return failureOf(attempt) === undefined ? 'success' : 'failure';
}
