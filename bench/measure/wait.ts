import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;
/** Without progress for this long, the rest will not arrive either. */
const STALLED_MS = 45_000;

/** Waits until nothing is left, or until the rest has not changed for a while; resolves with how much is left. */
export async function untilSettled(
  count: () => number | Promise<number>,
  stalledMs = STALLED_MS,
): Promise<number> {
  let left = await count();
  let moved = performance.now();
  while (left > 0 && performance.now() - moved < stalledMs) {
    await sleep(POLL_MS);
    const now = await count();
    if (now !== left) moved = performance.now();
    left = now;
  }
  return left;
}

/** The same, but throws when something is left; `what` names it. */
export async function untilNoneLeft(what: string, count: () => number | Promise<number>): Promise<void> {
  const left = await untilSettled(count);
  if (left > 0) throw new Error(`${what}: ${left} are left, and nothing moves`);
}
