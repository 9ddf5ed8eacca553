import type { Attempt } from '../../../src/webhooks/sending/attempt.ts';
import type { Random } from './random.ts';
import type { Scenario } from './scenario.ts';

/** How a receiver answers; its plan says when. */
export type Mood = (typeof MOODS)[number] | 'well';
const MOODS = [
  'failing',
  'failing',
  'hanging',
  'hanging',
  'resetting',
  'slow',
  'huge',
  'flaky',
  'busy',
  'gone',
] as const;

/** A receiver's reaction to one request. */
export type Answer = { mood: Mood; durationMs: number } & Pick<
  Attempt,
  'status' | 'error' | 'retryAfter' | 'excerpt'
>;

export type Receivers = {
  /** The reaction to a request now. */
  answer(url: string, now: number): Answer;
  mood(url: string, now: number): Mood;
  /** When its current mood started. */
  moodSince(url: string, now: number): number;
};

type Spell = { from: number; until: number; mood: Mood };

export function createReceivers({ start, busyMs, faults }: Scenario, random: Random): Receivers {
  const plans = new Map<string, Spell[]>();

  function planOf(url: string): Spell[] {
    const known = plans.get(url);
    if (known) return known;
    const own = random.fork(url);
    const spells = Array.from({ length: own.whole(0, faults.illness) }, () => {
      const from = start + own.whole(0, busyMs);
      const until = Math.min(start + busyMs, from + own.whole(1_000, busyMs / 2));
      return { from, until, mood: own.pick(MOODS) };
    });
    plans.set(url, spells);
    return spells;
  }

  const spellAt = (url: string, now: number) =>
    planOf(url).find(({ from, until }) => from <= now && now < until);

  return {
    mood: (url, now) => spellAt(url, now)?.mood ?? 'well',
    moodSince(url, now) {
      const spell = spellAt(url, now);
      if (spell) return spell.from;
      return Math.max(start, ...planOf(url).flatMap(({ until }) => (until <= now ? [until] : [])));
    },
    answer(url, now) {
      const mood = spellAt(url, now)?.mood ?? 'well';
      return { mood, ...answers[mood](random) };
    },
  };
}

/** One deadline from the lookup to the end of the answer. */
export const ATTEMPT_MS = 15_000;

const answers: Record<Mood, (random: Random) => Omit<Answer, 'mood'>> = {
  well: (random) => ({ durationMs: random.whole(1, 40), status: random.pick([200, 202, 204]) }),
  failing: (random) => ({ durationMs: random.whole(1, 40), status: random.pick([500, 302, 404]) }),
  hanging: () => ({ durationMs: ATTEMPT_MS, error: 'The receiver did not answer in time.' }),
  resetting: (random) => ({ durationMs: random.whole(0, 5), error: 'The connection was closed.' }),
  slow: (random) => ({ durationMs: random.whole(1_000, ATTEMPT_MS - 1), status: 200 }),
  huge: (random) => ({ durationMs: random.whole(50, 500), status: 200, excerpt: 'x'.repeat(4_096) }),
  flaky: (random) => ({ durationMs: random.whole(1, 40), status: random.pick([200, 500]) }),
  busy: (random) => ({
    durationMs: random.whole(1, 40),
    status: random.pick([429, 503]),
    retryAfter: String(random.chance(0.1) ? 3_600 : random.whole(1, 20)),
  }),
  gone: (random) => ({ durationMs: random.whole(1, 40), status: 410 }),
};
