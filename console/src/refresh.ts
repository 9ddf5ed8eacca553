import { useEffect } from 'preact/hooks';
import type { Resource } from './resource.ts';

/**
 * Reloads periodically while the page is visible, and at once when it becomes visible again. Does not interrupt a
 * load in progress: with a slow service it would never finish.
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
