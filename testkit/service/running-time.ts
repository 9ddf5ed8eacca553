const TICK_MS = 10;
/** A tick that comes later than this was held up by the machine. */
const LONGEST_TICK_MS = 50;

/**
 * A stopwatch, in milliseconds. Leaves out what a busy machine took from this process: it delayed the service as well.
 * So a limit of time holds on every machine, and only waiting exceeds it.
 */
export function startWatch(): { ms(): number } & Disposable {
  let [last, running] = [performance.now(), 0];
  const tick = (): void => {
    const now = performance.now();
    running += Math.min(now - last, LONGEST_TICK_MS);
    last = now;
  };
  const ticking = setInterval(tick, TICK_MS).unref();
  return {
    ms() {
      tick();
      return running;
    },
    [Symbol.dispose]: () => clearInterval(ticking),
  };
}
