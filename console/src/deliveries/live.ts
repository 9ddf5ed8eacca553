import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { store } from '../session.ts';

export type Live = 'connecting' | 'open' | 'lost';

type LiveOptions = {
  /** With each event as it happens. */
  onEvent(): void;
  /** When events may have happened that nobody was told of. */
  onGap(): void;
};

/** Behind an answer that the client takes for the last word: a proxy may give it while the service is replaced. */
const RETRY_MS = 5_000;

/**
 * Follows what happens for as long as somebody can see the page. A hidden tab lets go of its connection: browsers have
 * six for one service and all tabs together, and a seventh tab would wait for ever.
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
      state.value = 'lost';
    };
    while (!signal.aborted) {
      try {
        for await (const _ of store().events.stream({ signal, onOpen, onError })) latest.current.onEvent();
      } catch {
        if (signal.aborted) return;
        state.value = 'lost';
        // A stream that is opened anew begins with what happens then.
        hasGap = true;
        await behind(RETRY_MS, signal);
      }
    }
  }

  return state;
}

/** Resolves then, or once the signal is aborted. */
function behind(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
