import { type ReadonlySignal, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { recoveries } from './connection.ts';
import { isGone } from './failure.ts';

/** What a page shows: not yet there, there, or there and old since loading it again failed. */
export type Loading<T> = {
  value: T | undefined;
  error: unknown;
  isLoading: boolean;
  /** Milliseconds since the Unix epoch. */
  loadedAt: number | undefined;
  /** When loading last ended, well or not. */
  endedAt: number | undefined;
};

export type Resource<T> = {
  state: ReadonlySignal<Loading<T>>;
  /** Loads again; meanwhile what is there stays. */
  reload(): Promise<void>;
  /** Puts something else in its place, such as the answer to a change. */
  replace(value: T): void;
};

/**
 * Loads something when the page is shown and when `key` changes, drops answers that come too late, and loads again by
 * itself once the service can be reached again. Until what belongs to a new key has come, or failed to, what is there
 * stays: a page that is turned does not flicker.
 */
export function useResource<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const state = useSignal<Loading<T>>(nothing());
  const latest = useRef(load);
  latest.current = load;
  const latestKey = useRef(key);
  latestKey.current = key;
  const running = useRef<AbortController>(null);
  const keyOfValue = useRef<string>(undefined);

  async function reload(): Promise<void> {
    running.current?.abort();
    const controller = new AbortController();
    const { signal } = controller;
    running.current = controller;
    state.value = { ...state.peek(), isLoading: true };
    try {
      const value = await latest.current(signal);
      if (!signal.aborted) replace(value);
    } catch (error) {
      if (signal.aborted) return;
      // Of what was deleted meanwhile nothing is left to look at, or to do.
      const isKept = keyOfValue.current === latestKey.current && !isGone(error);
      state.value = {
        ...(isKept ? state.peek() : nothing<T>()),
        error,
        isLoading: false,
        endedAt: Date.now(),
      };
    }
  }

  useEffect(() => {
    void reload();
    return () => running.current?.abort();
  }, [key]);

  const recovered = useRef(recoveries.peek());
  useSignalEffect(() => {
    if (recoveries.value === recovered.current) return;
    recovered.current = recoveries.value;
    void reload();
  });

  function replace(value: T): void {
    // What was asked for before this value was known would come after it, and be older.
    running.current?.abort();
    keyOfValue.current = latestKey.current;
    const now = Date.now();
    state.value = { value, error: undefined, isLoading: false, loadedAt: now, endedAt: now };
  }

  return { state, reload, replace };
}

function nothing<T>(): Loading<T> {
  return { value: undefined, error: undefined, isLoading: true, loadedAt: undefined, endedAt: undefined };
}
