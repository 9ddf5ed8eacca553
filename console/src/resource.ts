import { type ReadonlySignal, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { recoveries } from './connection.ts';
import { isGone } from './failure.ts';

/** The state of loaded data: missing, current, or outdated because reloading failed. */
export type Loading<T> = {
  value: T | undefined;
  error: unknown;
  isLoading: boolean;
  /** Milliseconds since the Unix epoch. */
  loadedAt: number | undefined;
  /** When loading last ended, successfully or not. */
  endedAt: number | undefined;
};

export type Resource<T> = {
  state: ReadonlySignal<Loading<T>>;
  /** Whether the value is still that of an earlier key. */
  isStale: boolean;
  /** Reloads and keeps the current value meanwhile. */
  reload(): Promise<void>;
  /** Replaces the value, for example with the response to a change. */
  replace(value: T): void;
};

/**
 * Loads data when the page is shown and when `key` changes, drops outdated responses, and reloads once the service
 * can be reached again. Until the data for a new key has loaded or failed, the old value stays, so that turning a
 * page does not flicker.
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
    const wanted = latestKey.current;
    running.current = controller;
    state.value = { ...state.peek(), isLoading: true };
    try {
      const value = await latest.current(signal);
      if (!signal.aborted) take(value, wanted);
    } catch (error) {
      if (signal.aborted) return;
      // Do not keep showing an object that was deleted meanwhile.
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

  function take(value: T, of: string): void {
    // A request started earlier would return an older value.
    running.current?.abort();
    keyOfValue.current = of;
    const now = Date.now();
    state.value = { value, error: undefined, isLoading: false, loadedAt: now, endedAt: now };
  }

  const isStale = state.value.value !== undefined && keyOfValue.current !== key;
  return { state, isStale, reload, replace: (value) => take(value, latestKey.current) };
}

function nothing<T>(): Loading<T> {
  return { value: undefined, error: undefined, isLoading: true, loadedAt: undefined, endedAt: undefined };
}
