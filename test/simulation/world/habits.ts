import type { Attempt } from '../../../src/webhooks/sending/attempt.ts';
import { pauseOf, type Send } from '../checks/send.ts';
import type { Scenario } from './scenario.ts';

/** Checks how each process treats each receiver: pauses, rates, silence and probes. */
export type Habits = {
  sent(send: Send): void;
  answered(send: Send, attempt: Attempt, isFailure: boolean): void;
  notMade(send: Send): void;
  /** The process owns the lane again, and knows only what the store knows of the receiver. */
  forget(process: string, webhook: string): void;
  /** The receiver's answer was not recorded. */
  unlearn(process: string, webhook: string): void;
  ended(process: string): void;
};

type Habit = {
  /** When the process took the lane; earlier sends count for nothing. */
  since: number;
  underWay: Set<Send>;
  failures: number;
  isSilent: boolean;
  endedAt: number;
  pause: { until: number; generation: number };
  goneGeneration: number | undefined;
  /** The webhook's generation at the last send. */
  generation: number;
};

type Bucket = { rate: number; version: number; tokens: number; at: number };

/** @param offMs the allowed difference between a replica's clock and the store's */
export function createHabits(
  { rules, faults, start }: Scenario,
  now: () => number,
  offMs: () => number,
  fail: (what: string) => void,
): Habits {
  const habits = new Map<string, Habit>();
  const buckets = new Map<string, Bucket>();
  const silent = new Map<string, Set<Send>>();

  function habitOf({ process, webhook }: Pick<Send, 'process' | 'webhook'>): Habit {
    const key = `${process} ${webhook}`;
    const known = habits.get(key);
    if (known) return known;
    const made: Habit = {
      since: start,
      underWay: new Set(),
      failures: 0,
      isSilent: false,
      endedAt: start,
      pause: { until: 0, generation: -1 },
      goneGeneration: undefined,
      generation: 0,
    };
    habits.set(key, made);
    return made;
  }

  function silentOf(process: string): Set<Send> {
    const known = silent.get(process) ?? new Set();
    silent.set(process, known);
    return known;
  }

  /** No more than the bucket allows, over all processes. A changed webhook may have had another rate in between. */
  function checkRate({ webhook, settings: { rate, version } }: Send): void {
    if (rate === undefined) {
      buckets.delete(webhook);
      return;
    }
    const most = Math.max(1, Math.floor(rate * rules.rateBurst));
    const known = buckets.get(webhook);
    const isSame = known?.rate === rate && known.version === version;
    const bucket = isSame ? known : { rate, version, tokens: most, at: now() };
    buckets.set(webhook, bucket);
    bucket.tokens = Math.min(most, bucket.tokens + ((now() - bucket.at) / 1000) * rate) - 1;
    bucket.at = now();
    // One token may have been taken while the store, which should record it, was slow.
    const late = faults.stalled > 0 || faults.outages > 0 ? 1 : 0;
    if (bucket.tokens < -late - (rate * 2 * offMs()) / 1000) fail(`${webhook} is sent more than ${rate}/s`);
  }

  function checkProbe(send: Send, habit: Habit): void {
    const { process, webhook, isAsked } = send;
    const isProbed = habit.isSilent || habit.failures >= rules.failuresToProbe;
    if (!isProbed || isAsked) return;
    const ordinary = [...habit.underWay].filter((one) => !one.isAsked).length;
    if (ordinary > 1) fail(`${process} has ${ordinary} requests to ${webhook} under way, which it probes`);
    if (habit.failures < rules.failuresToProbe) return;
    const waited = now() - habit.endedAt;
    if (waited < rules.probeMs.first - offMs()) fail(`${process} probed ${webhook} after ${waited} ms`);
  }

  return {
    sent(send) {
      const { process, webhook, settings } = send;
      const habit = habitOf(send);
      const { pause, goneGeneration } = habit;
      // After this long without an attempt the lane may have been given up, with its trouble.
      if (habit.underWay.size === 0 && now() - habit.endedAt >= rules.troubledMs) {
        Object.assign(habit, { failures: 0, isSilent: false });
      }
      habit.underWay.add(send);
      if (settings.generation !== habit.generation) {
        Object.assign(habit, { generation: settings.generation, failures: 0, isSilent: false });
      }
      if (now() < pause.until - offMs() && settings.generation === pause.generation) {
        fail(`${process} sent to ${webhook}, which had asked it to wait`);
      }
      if (settings.generation === goneGeneration) fail(`${process} sent to ${webhook}, which is gone`);
      checkRate(send);
      checkProbe(send, habit);
      if (!habit.isSilent) return;
      const together = silentOf(process).add(send);
      const ordinary = [...together].filter(({ isAsked }) => !isAsked).length;
      if (ordinary > Math.ceil(rules.inAll / 2)) fail(`${process} has ${ordinary} silent ones under way`);
    },

    answered(send, attempt, isFailure) {
      const habit = habitOf(send);
      habit.underWay.delete(send);
      silentOf(send.process).delete(send);
      const until = pauseOf(attempt, now());
      const { generation } = send.settings;
      if (generation === habit.generation && send.at >= habit.since) {
        habit.endedAt = now();
        habit.isSilent = attempt.error !== undefined;
        habit.failures = isFailure ? habit.failures + 1 : 0;
      }
      if (send.at < habit.since) return;
      if (until !== undefined && until > habit.pause.until) habit.pause = { until, generation };
      if (attempt.status === 410) habit.goneGeneration = generation;
    },

    notMade(send) {
      habitOf(send).underWay.delete(send);
      silentOf(send.process).delete(send);
    },

    forget(process, webhook) {
      habits.delete(`${process} ${webhook}`);
      habitOf({ process, webhook }).since = now();
    },

    unlearn(process, webhook) {
      const pause = { until: 0, generation: -1 };
      Object.assign(habitOf({ process, webhook }), { pause, goneGeneration: undefined });
    },

    ended(process) {
      for (const key of [...habits.keys()]) if (key.startsWith(`${process} `)) habits.delete(key);
      silent.delete(process);
    },
  };
}
