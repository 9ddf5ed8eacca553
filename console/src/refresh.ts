import { useEffect } from 'preact/hooks';
import type { Resource } from './resource.ts';

/**
 * Loads again from time to time, as long as somebody can see it, and at once when they come back to it. What is under
 * way is waited for: on a service that takes its time it would otherwise never arrive.
 */
export function useRefresh<T>({ state, reload }: Resource<T>, everyMs: number): void {
  useEffect(() => {
    const look = () => {
      const { isLoading, endedAt = Date.now() } = state.peek();
      if (!document.hidden && !isLoading && Date.now() - endedAt >= everyMs) void reload();
    };
    const timer = setInterval(look, Math.min(everyMs, 1_000));
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [everyMs]);
}
