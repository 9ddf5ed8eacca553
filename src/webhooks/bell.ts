/** Wakes a loop. A ring that nobody waits for counts for the next wait. */
export type Bell = {
  ring(): void;
  /** Resolves at the next ring, or after `ms` milliseconds. For one waiter. */
  rings(ms: number): Promise<void>;
};

export function createBell(): Bell {
  let rung = false;
  let wake = () => {};
  return {
    ring() {
      rung = true;
      wake();
    },
    async rings(ms) {
      if (!rung) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms);
        wake = resolve;
        await promise;
        clearTimeout(timer);
      }
      rung = false;
    },
  };
}
