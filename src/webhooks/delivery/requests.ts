import type { Attempt } from '../sending/attempt.ts';
import { begin, keyOf, type Lane, leave, mustBeNoted } from './lane.ts';
import { close, expectMore, readAgain } from './lane-reads.ts';
import type { Ledger } from './ledger.ts';
import { outcomeOf, poisonedOutcome, type Sent } from './outcome.ts';
import type { LaneFence } from './ownership.ts';
import type { DueDelivery, Outcome, Recorded } from './port.ts';
import type { Rules } from './rules.ts';
import type { Slots, SlotUse } from './slots.ts';
import { answerKindOf, isProbed, troubleAfter } from './trouble.ts';

/** One request. `changes`: those of its lane when the request started. */
export type InFlight = Sent & SlotUse & { changes: number };

export type RequestEffect = { do: 'suspect'; request: InFlight } | { do: 'send'; request: InFlight };

type RequestParts = {
  rules: Rules;
  ledger: Ledger;
  slots: Slots;
  /** The lane, unless it was lost meanwhile. */
  ownLane(of: LaneFence): Lane | undefined;
  drop(lane: Lane): void;
  /** The lane may have something to do. */
  wake(lane: Lane): void;
};

/** Requests from their start until their outcomes are recorded. */
export function createRequests({ rules, ledger, slots, ownLane, drop, wake }: RequestParts) {
  const written: InFlight[] = [];

  function end(request: InFlight): Lane | undefined {
    slots.free(request);
    const lane = ownLane(request);
    if (!lane) return undefined;
    leave(lane, request.delivery);
    wake(lane);
    return lane;
  }

  /** Nothing was sent: the delivery stays in the store. */
  function giveUp(request: InFlight, until: number): void {
    const lane = end(request);
    if (!lane) return;
    lane.underWay.delete(keyOf(request.delivery));
    readAgain(lane);
    lane.moreAt = until;
  }

  /** The consequences of an attempt for the whole lane. */
  function follow(lane: Lane, { laneState }: Outcome, now: number): Outcome['begins'] {
    const before = lane.state;
    lane.state = { ...laneState, disabledReason: before?.disabledReason ?? laneState.disabledReason };
    if (before?.disabledReason !== undefined) return undefined;
    if (laneState.disabledReason !== undefined) {
      close(lane);
      return 'disabled';
    }
    const wasPaused = (before?.pausedUntil ?? 0) > now;
    if (wasPaused || (laneState.pausedUntil ?? 0) <= now) return undefined;
    lane.changes++;
    return 'pause';
  }

  function settle(outcome: Outcome, result: Recorded): void {
    const lane = ownLane(outcome);
    if (!lane) return;
    if (result === 'lost') {
      drop(lane);
      return;
    }
    const key = keyOf({ event: { id: outcome.event }, generation: outcome.generation });
    lane.underWay.delete(key);
    // What an earlier process noted does not count: as many others as were in flight must be noted, too.
    if (lane.noted.get(key) === 0 && lane.careful > 0) lane.careful--;
    lane.noted.delete(key);
    lane.reading?.recorded.add(key);
    // Perhaps the webhook was not disabled then: the next read shows it.
    if (outcome.begins === 'disabled' && (result === 'gone' || result === 'late') && lane.state)
      lane.state = { ...lane.state, disabledReason: undefined };
    if (outcome.begins === 'disabled' || result === 'anew' || result === 'late') {
      expectMore(lane, -Infinity);
    } else if (result === 'settled' && outcome.next.state === 'pending') expectMore(lane, outcome.next.due);
    wake(lane);
  }

  return {
    start(lane: Lane, delivery: DueDelivery, now: number): RequestEffect[] {
      const { webhook, fence, changes } = lane;
      // `nextOf` returns no delivery of a lane without settings.
      if (!lane.settings) return [];
      const settings = { ...lane.settings, ...lane.state };
      const { isSilent } = lane.trouble;
      const request = { webhook, fence, delivery, settings, isSilent, changes };
      const isNoted = mustBeNoted(lane, delivery);
      begin(lane, delivery);
      if (delivery.suspicions >= rules.suspicions) {
        leave(lane, delivery);
        ledger.add(poisonedOutcome(request, rules, now), now);
        return [];
      }
      slots.take(request);
      if (!isNoted) return [{ do: 'send', request }];
      lane.noted.set(keyOf(delivery), delivery.suspicions);
      return [{ do: 'suspect', request }];
    },

    suspected(request: InFlight, isWritten: boolean, now: number): void {
      if (isWritten) written.push(request);
      else giveUp(request, now);
    },

    /** Sends what was noted, unless the lane was lost or changed meanwhile. */
    sendWritten(now: number): RequestEffect[] {
      return written.splice(0).flatMap((request) => {
        if (ownLane(request)?.changes === request.changes) return [{ do: 'send', request }];
        giveUp(request, now);
        return [];
      });
    },

    /** A `send` ended; undefined if no request was made. */
    ended(request: InFlight, attempt: Attempt | undefined, now: number): void {
      if (!attempt) {
        giveUp(request, now + rules.notMadeMs);
        return;
      }
      const lane = end(request);
      if (!lane) return;
      // An attempt to the previous URL says nothing about the webhook.
      const isVoid = lane.state?.generation !== request.settings.generation;
      const current = isVoid ? request.settings : { ...request.settings, ...lane.state };
      const outcome = outcomeOf({ ...request, settings: current }, attempt, rules, now);
      if (!isVoid) {
        lane.trouble = troubleAfter(lane.trouble, answerKindOf(attempt), lane.inFlight === 0, rules, now);
        // It sends one request at a time: gives up what is still being noted.
        if (isProbed(lane.trouble, rules)) lane.changes++;
      }
      ledger.add(isVoid ? outcome : { ...outcome, begins: follow(lane, outcome, now) }, now);
    },

    /** A `record` ended; undefined when the store failed. */
    recorded(results: readonly Recorded[] | undefined, now: number): void {
      const outcomes = ledger.recorded(results !== undefined, now);
      for (const [index, outcome] of outcomes.entries()) settle(outcome, results?.[index] ?? 'gone');
    },
  };
}
