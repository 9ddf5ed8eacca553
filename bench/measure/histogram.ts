/** Counts times in milliseconds, in steps of a twentieth, for more of them than an array should hold. */
export type Histogram = {
  add(ms: number): void;
  /** The given percentile; NaN without values. */
  percentile(percent: number): number;
};

const STEPS_PER_MS = 20;
const MOST_MS = 60_000;

export function createHistogram(): Histogram {
  const counts = new Uint32Array(MOST_MS * STEPS_PER_MS + 1);
  let total = 0;
  return {
    add(ms) {
      const step = Math.min(Math.floor(ms * STEPS_PER_MS), MOST_MS * STEPS_PER_MS);
      counts[step] = (counts[step] ?? 0) + 1;
      total++;
    },
    percentile(percent) {
      const wanted = Math.ceil((total * percent) / 100);
      let seen = 0;
      for (const [step, count] of counts.entries()) {
        seen += count;
        if (seen >= wanted && count > 0) return (step + 1) / STEPS_PER_MS;
      }
      return Number.NaN;
    },
  };
}
