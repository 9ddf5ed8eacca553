import { SLOW_MS, STALLED_MS } from '../stores/calls.ts';
import { FROZEN_MS, type Scenario } from '../world/scenario.ts';

/** The replicas' estimates of the store's time. */
export type Clocks = {
  /** A replica used this time. */
  shown(time: number): void;
  /** How much the checks of times must allow for. */
  offMs(): number;
};

/** For the steps in which times are rounded, searched and noticed. */
const USUAL_MS = 45;

/** An estimate is wrong by at most half of the time that the answer took from which it was made. */
export function createClocks(
  { faults, isEmbedded }: Scenario,
  now: () => number,
  fail: (what: string) => void,
): Clocks {
  const slowest = Math.max(
    faults.stale > 0 ? SLOW_MS : 0,
    faults.stalled > 0 ? STALLED_MS : 0,
    faults.freezes > 0 ? FROZEN_MS : 0,
  );
  const most = USUAL_MS + (isEmbedded ? 0 : slowest / 2);
  let off = 0;
  return {
    shown(time) {
      off = Math.max(off, Math.abs(time - now()));
      if (off > most) fail(`a replica takes ${now()} for ${time}`);
    },
    offMs: () => USUAL_MS + off,
  };
}
