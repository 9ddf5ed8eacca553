import type { Clock } from '../../runtime.ts';

/** A stretch of time that began with the first thing that was counted in it. */
export type CountedWindow = {
  count: number;
  /** By the clock of its windows. */
  endsAt: number;
};

export type CountedWindows = {
  /** The window of this key that is open. */
  find(key: string): CountedWindow | undefined;
  /** Counts once more, in a new window when none is open. */
  count(key: string): CountedWindow;
};

export type WindowOptions = {
  lengthMs: number;
  /** Keys that are remembered. */
  most: number;
  /** One that never goes back. */
  clock: Clock;
};

/**
 * Counts by key, in windows of one length. When there are too many keys, one of those that were counted least is
 * forgotten: whoever brings many keys, each with a few, does not make those be forgotten that are about to be too many,
 * or are.
 */
export function countWindows({ lengthMs, most, clock }: WindowOptions): CountedWindows {
  const windows = new Map<string, CountedWindow>();
  /** Keys by the logarithm of their count, so that those of a small one are at hand. */
  const levels: Set<string>[] = [];

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

  /** Those whose window has ended go first: such a one is, or soon comes, at the front of its level. */
  function makeRoom(): void {
    const fronts = levels.flatMap((keys) => [...keys.values().take(1)]);
    const ended = fronts.filter((key) => find(key) === undefined);
    for (const key of ended.length > 0 ? ended : fronts.slice(0, 1)) forget(key);
  }

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

  return { find, count };
}

/** -1 for one that was not counted yet. */
function levelOf(count: number): number {
  return count === 0 ? -1 : Math.floor(Math.log2(count));
}

/** For `Retry-After`: whole seconds until a window ends, at least one. */
export function secondsLeft({ endsAt }: CountedWindow, clock: Clock): number {
  return Math.max(1, Math.ceil((endsAt - clock.now()) / 1000));
}
