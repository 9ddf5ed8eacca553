import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { pause } from '../../../packages/client/src/deadlines.ts';
import { store } from '../session.ts';

export type Live = 'connecting' | 'open' | 'lost';

type LiveOptions = {
  /** Called for each event as it happens. */
  onEvent(): void;
  /** Called when events may have been missed. */
  onGap(): void;
};

/** After a failure that the client treats as final: a proxy may return it while the service is replaced. */
const RETRY_MS = 5_000;

/**
 * Follows events while the page is visible. A hidden tab closes its connection: browsers allow six per service across
 * all tabs, and a seventh tab would wait forever.
 */
export function useLive(options: LiveOptions): ReadonlySignal<Live> {
  const state = useSignal<Live>('connecting');
  const latest = useRef(options);
  latest.current = options;

  useEffect(() => {
    let following: AbortController | undefined;
    let hasFollowed = false;
    const look = () => {
      if (document.hidden) {
        following?.abort();
        following = undefined;
      } else if (following === undefined) {
        following = new AbortController();
        void follow(following.signal, hasFollowed);
        hasFollowed = true;
      }
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      following?.abort();
    };
  }, []);

  async function follow(signal: AbortSignal, isAgain: boolean): Promise<void> {
    let hasGap = isAgain;
    state.value = 'connecting';
    const onOpen = () => {
      state.value = 'open';
      if (hasGap) latest.current.onGap();
      hasGap = false;
    };
    const onError = () => {
      // If it was never open, the stream that opens begins with events from then on.
      hasGap ||= state.peek() === 'connecting';
      state.value = 'lost';
    };
    while (!signal.aborted) {
      try {
        for await (const _ of store().events.stream({ signal, onOpen, onError })) latest.current.onEvent();
      } catch {
        if (signal.aborted) return;
        state.value = 'lost';
        // A new stream begins with events from now on.
        hasGap = true;
        await pause(RETRY_MS, signal).catch(() => {});
      }
    }
  }

  return state;
}
