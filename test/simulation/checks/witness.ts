import type { TakenLane } from '../../../src/webhooks/delivery/dispatch.ts';
import type { LaneRequest, Outcome, Recorded } from '../../../src/webhooks/delivery/port.ts';
import type { Attempt } from '../../../src/webhooks/sending/attempt.ts';
import { failureOf } from '../../../src/webhooks/sending/attempt.ts';
import type { Sendable } from '../../../src/webhooks/sending/request.ts';
import { type DeliveryRow, isVisible, type Rows } from '../stores/memory-rows.ts';
import type { StampedEvent, StampedSettings } from '../stores/memory-store.ts';
import { createHabits } from '../world/habits.ts';
import type { Scenario } from '../world/scenario.ts';
import { createClocks } from './clocks.ts';
import { checkOutcome } from './outcome-check.ts';
import type { Send } from './send.ts';

/** Observes everything, and reports violations. */
export type Witness = {
  /** @param clock the replica's estimate of the store's time */
  sent(process: string, request: Sendable, clock: number): Send;
  /** A replica looks for what is due at this time, by its clock. */
  reads(process: string, request: LaneRequest): void;
  answered(send: Send, attempt: Attempt): void;
  notMade(send: Send): void;
  /** By a committed transaction. */
  recorded(process: string, outcomes: readonly Outcome[], results: readonly Recorded[]): void;
  /** A process learned of a webhook's change. */
  learned(process: string, webhook: string, version: number): void;
  /** A process learned that a user requested a delivery, by a commit at this time. */
  heardAsk(process: string, webhook: string, at: number): void;
  taken(process: string, lane: TakenLane): void;
  /** A process must send nothing more for the lane until it takes it again. */
  left(process: string, webhook: string): void;
  /** Another owner may start although the previous one did not give the lane back. */
  unclean(webhook: string): void;
  uncleanCount(webhook: string): number;
  ended(process: string): void;
  note(process: string, what: string, of: object): void;
  sends(): readonly Send[];
  underWay(): ReadonlySet<Send>;
  fail(what: string): void;
  failures(): readonly string[];
};

export function createWitness(scenario: Scenario, rows: Rows, trace?: (line: string) => void): Witness {
  const { rules } = scenario;
  const sends: Send[] = [];
  const underWay = new Set<Send>();
  const byKey = new Map<string, Send[]>();
  const byAttempt = new Map<string, Send>();
  const versions = new Map<string, number>();
  const leaving = new Set<string>();
  const askedAt = new Map<string, number>();
  const uncleanAt = new Map<string, number>();
  const uncleanCounts = new Map<string, number>();
  const failures: string[] = [];
  const clocks = createClocks(scenario, rows.now, fail);
  const habits = createHabits(scenario, rows.now, clocks.offMs, fail);

  const timed = (what: string) => `${((rows.now() - scenario.start) / 1000).toFixed(3)} s: ${what}`;

  function note(process: string, what: string, of: object): void {
    trace?.(timed(`${process} ${what} ${JSON.stringify(of)}`));
  }

  function fail(what: string): void {
    failures.push(timed(what));
    trace?.(timed(`FAILURE ${what}`));
  }

  const isUncleanSince = (webhook: string, at: number) => (uncleanAt.get(webhook) ?? -1) >= at;

  function checkKnowledge({ process, webhook, event, settings }: Send, stamp: StampedEvent): void {
    const learned = versions.get(`${process} ${webhook}`) ?? 0;
    const text = `${process} sent ${event} to ${webhook}`;
    if (leaving.has(`${process} ${webhook}`)) fail(`${text}, which is to be handed over`);
    if (settings.version < learned) fail(`${text} after it learned of a change of it`);
    else if (stamp.version < learned) fail(`${text}, read before a change that it learned of`);
    if (stamp.due > rows.now() + clocks.offMs())
      fail(`${text} ${stamp.due - rows.now()} ms before it was due`);
    const row = rows.deliveries.get(webhook)?.get(event);
    const isSame = stamp.version === rows.webhooks.get(webhook)?.version;
    if (row && isSame && !isVisible(rows, webhook, row.event)) fail(`${text}, who has no access to it`);
    if ((settings.pausedUntil ?? 0) > rows.now() + clocks.offMs()) fail(`${text}, which is paused`);
    const isSeen = row !== undefined && isVisible(rows, webhook, row.event);
    if (isSeen && row.made === stamp.made) checkAsked(text, row, stamp, askedAt.get(`${process} ${webhook}`));
  }

  /** A waiting delivery that was resent must not be sent twice, unless it was about to be noted. */
  function checkAsked(text: string, row: DeliveryRow, stamp: StampedEvent, heardAt = 0): void {
    const isOld =
      row.generation > stamp.generation && row.askedAt <= heardAt && heardAt + clocks.offMs() < rows.now();
    const isNoted = scenario.faults.kills > 0 || scenario.faults.lostAnswer > 0 || scenario.faults.isPoisoned;
    if (isOld && !isNoted && !stamp.isAsked) fail(`${text}, after it heard that it is asked for again`);
  }

  function checkDuplicate(send: Send): void {
    const { process, webhook, event, made, generation } = send;
    const key = `${webhook} ${event} ${made} ${generation}`;
    const before = byKey.get(key) ?? [];
    byKey.set(key, [...before, send]);
    for (const one of before) {
      const isExcused = one.state === 'not made' || one.state === 'gone' || isUncleanSince(webhook, one.at);
      if (!isExcused) fail(`${process} sent ${key} again, ${one.state} since ${one.at - scenario.start}`);
    }
  }

  function checkPlaces({ process, webhook, settings: { owner } }: Send): void {
    const inAll = [...underWay].filter((one) => one.process === process);
    if (inAll.length > rules.inAll + 1) fail(`${process} has ${inAll.length} requests under way`);
    const owned = inAll.filter(({ settings }) => settings.owner === owner);
    const most = Math.ceil(rules.inAll * rules.ownerShare);
    if (owned.length > most + 1 || owned.filter(({ isAsked }) => !isAsked).length > most) {
      fail(`${process} has ${owned.length} requests of the owner ${owner} under way`);
    }
    const ofLane = [...underWay].filter((one) => one.webhook === webhook);
    const since = Math.min(...ofLane.map(({ at }) => at));
    if (ofLane.length > rules.concurrency + 1 && !isUncleanSince(webhook, since)) {
      fail(`${webhook} has ${ofLane.length} requests under way`);
    }
  }

  function recordedOne(process: string, outcome: Outcome, result: Recorded): void {
    const { webhook, event, generation, attempt } = outcome;
    const send = byAttempt.get(`${process} ${webhook} ${event} ${generation} ${attempt.at}`);
    if (!send?.attempt) {
      if (attempt.durationMs !== 0 || attempt.status !== undefined) {
        fail(`${process} recorded an attempt of ${event} to ${webhook} that was not made`);
      }
      return;
    }
    if (result === 'lost' || result === 'gone') habits.unlearn(process, webhook);
    if (result === 'lost') return;
    const row = rows.deliveries.get(webhook)?.get(event);
    if (row && result !== 'gone') {
      if (!isVisible(rows, webhook, row.event))
        fail(`${event} of a removed share was recorded for ${webhook}`);
      // It may have been removed and inserted again.
      Object.assign(send, { state: 'recorded', made: row.made });
    }
    const { pausedUntil, generation: current } = rows.webhooks.get(webhook) ?? {};
    const { laneState } = outcome;
    if (pausedUntil && pausedUntil === laneState.pausedUntil && current !== laneState.generation) {
      fail(`${webhook} pauses because of a URL before`);
    }
    checkOutcome(outcome, send, rules, clocks.offMs(), fail);
  }

  return {
    sent(process, { webhook, event }, clock) {
      clocks.shown(clock);
      // Both come from the store in memory.
      const [stamp, settings] = [event as StampedEvent, webhook as unknown as StampedSettings];
      const send: Send = {
        process,
        webhook: webhook.id,
        url: webhook.url,
        event: event.id,
        generation: stamp.generation,
        made: stamp.made,
        isAsked: stamp.isAsked,
        at: rows.now(),
        settings: { ...settings },
        state: 'under way',
        attempt: undefined,
        endedAt: undefined,
      };
      sends.push(send);
      note(process, 'sends', { ...send, settings: { ...settings, event: undefined } });
      underWay.add(send);
      checkKnowledge(send, stamp);
      checkDuplicate(send);
      checkPlaces(send);
      habits.sent(send);
      return send;
    },

    reads(process, request) {
      clocks.shown(request.now);
      note(process, 'reads', request);
    },

    answered(send, attempt) {
      underWay.delete(send);
      Object.assign(send, { state: 'answered', attempt, endedAt: rows.now() });
      const { process, webhook, event, generation } = send;
      byAttempt.set(`${process} ${webhook} ${event} ${generation} ${attempt.at}`, send);
      note(process, 'was answered', { webhook, event, generation, attempt });
      habits.answered(send, attempt, failureOf(attempt) !== undefined);
    },

    notMade(send) {
      underWay.delete(send);
      send.state = 'not made';
      note(send.process, 'did not send', { webhook: send.webhook, event: send.event });
      habits.notMade(send);
    },

    recorded(process, outcomes, results) {
      note(
        process,
        'recorded',
        outcomes.map(({ webhook, event, generation, next, laneState }, index) => ({
          webhook,
          event,
          generation,
          next,
          laneState,
          result: results[index],
        })),
      );
      for (const [index, outcome] of outcomes.entries()) {
        recordedOne(process, outcome, results[index] ?? 'gone');
      }
    },

    learned(process, webhook, version) {
      versions.set(`${process} ${webhook}`, version);
      note(process, 'learned', { webhook, version });
    },

    heardAsk(process, webhook, at) {
      askedAt.set(`${process} ${webhook}`, at);
    },

    left(process, webhook) {
      leaving.add(`${process} ${webhook}`);
      note(process, 'is to hand over', { webhook });
    },

    taken(process, lane) {
      leaving.delete(`${process} ${lane.webhook}`);
      habits.forget(process, lane.webhook);
      note(process, 'took', lane);
    },

    unclean(webhook) {
      uncleanAt.set(webhook, rows.now());
      uncleanCounts.set(webhook, (uncleanCounts.get(webhook) ?? 0) + 1);
      note(webhook, 'is unclean', {});
    },

    ended(process) {
      note(process, 'ended', {});
      for (const send of sends) {
        if (send.process !== process || send.state === 'recorded' || send.state === 'not made') continue;
        send.state = 'gone';
        underWay.delete(send);
      }
      habits.ended(process);
    },

    note,
    uncleanCount: (webhook) => uncleanCounts.get(webhook) ?? 0,
    sends: () => sends,
    underWay: () => underWay,
    fail,
    failures: () => failures,
  };
}
