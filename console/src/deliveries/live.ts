import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { store } from '../session.ts';

export type Live = 'connecting' | 'open' | 'lost';

/** Calls back with each event as it happens, for as long as the page is shown and `isOn`. */
export function useLive(isOn: boolean, onEvent: () => void) {
  const state = useSignal<Live>('connecting');
  const latest = useRef(onEvent);
  latest.current = onEvent;
  useEffect(() => {
    if (!isOn) return;
    const controller = new AbortController();
    void follow(controller.signal);
    return () => controller.abort();
  }, [isOn]);

  async function follow(signal: AbortSignal): Promise<void> {
    state.value = 'connecting';
    try {
      const onOpen = () => {
        state.value = 'open';
      };
      const onError = () => {
        state.value = 'lost';
      };
      for await (const _ of store().events.stream({ signal, onOpen, onError })) latest.current();
    } catch {
      // Trying again does not help: what is shown is loaded from time to time anyhow.
      if (!signal.aborted) state.value = 'lost';
    }
  }

  return state;
}
