import type { Clock } from '../../runtime.ts';

/** A time window that began with the first event counted in it. */
type CountedWindow = {
  count: number;
  /** By the clock of its windows. */
  endsAt: number;
};

export type CountedWindows = ReturnType<typeof countWindows>;

type WindowOptions = {
  lengthMs: number;
  /** The most keys to remember. */
  most: number;
  /** A clock that never goes back. */
  clock: Clock;
};

/**
 * Counts by key, in windows of equal length. When there are too many keys, a key with one of the smallest counts is
 * forgotten. So a flood of keys with few events each does not displace keys near or over a limit.
 */
export function countWindows({ lengthMs, most, clock }: WindowOptions) {
  const windows = new Map<string, CountedWindow>();
  /** Keys by the logarithm of their count, to find those with a small count quickly. */
  const levels: Set<string>[] = [];

  /** The open window of this key. */
  function find(key: string): CountedWindow | undefined {
    const window = windows.get(key);
    return window !== undefined && clock.now() < window.endsAt ? window : undefined;
  }

  function begin(key: string): CountedWindow {
    forget(key);
    if (windows.size >= most) makeRoom();
    const window = { count: 0, endsAt: clock.now() + lengthMs };
    windows.set(key, window);
    return window;
  }

  function forget(key: string): void {
    const window = windows.get(key);
    if (window === undefined) return;
    levels[levelOf(window.count)]?.delete(key);
    windows.delete(key);
  }

  /** Expired windows go first: each is at the front of its level, or soon will be. */
  function makeRoom(): void {
    const fronts = levels.flatMap((keys) => [...keys.values().take(1)]);
    const ended = fronts.filter((key) => find(key) === undefined);
    for (const key of ended.length > 0 ? ended : fronts.slice(0, 1)) forget(key);
  }

  /** Counts one more, in a new window if none is open. */
  function count(key: string): CountedWindow {
    const window = find(key) ?? begin(key);
    const level = levelOf(++window.count);
    if (level !== levelOf(window.count - 1)) moveTo(level, key);
    return window;
  }

  function moveTo(level: number, key: string): void {
    levels[level - 1]?.delete(key);
    const keys = levels[level] ?? new Set();
    levels[level] = keys.add(key);
  }

  return {
    find,
    count,
    /** For `Retry-After`: whole seconds until a window ends, at least one. */
    secondsLeft: ({ endsAt }: CountedWindow) => Math.max(1, Math.ceil((endsAt - clock.now()) / 1000)),
  };
}

/** -1 for a key without a count. */
function levelOf(count: number): number {
  return count === 0 ? -1 : Math.floor(Math.log2(count));
}
