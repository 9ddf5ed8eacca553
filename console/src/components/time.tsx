import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { serviceNow } from '../connection.ts';
import { dateAndTime, fromNow } from '../format.ts';

/** One clock for all times shown. */
const now = signal(0);
let shown = 0;
let ticking: ReturnType<typeof setInterval> | undefined;

type TimeProps = {
  at: string | number;
  /** It is still to come: once the time has passed it is "as soon as possible". */
  isAhead?: boolean;
};

/** How long ago, or how soon; on hover the exact time. */
export function Time({ at, isAhead = false }: TimeProps) {
  useEffect(() => {
    shown += 1;
    ticking ??= setInterval(() => (now.value = serviceNow()), 1_000);
    return () => {
      shown -= 1;
      if (shown > 0) return;
      clearInterval(ticking);
      ticking = undefined;
    };
  }, []);
  const exact = new Date(at);
  // The clock stops while no time is shown.
  const current = Math.max(now.value, serviceNow());
  const text = isAhead && exact.getTime() < current ? 'as soon as possible' : fromNow(exact, current);
  return (
    <time dateTime={exact.toISOString()} title={dateAndTime(exact)}>
      {text}
    </time>
  );
}
