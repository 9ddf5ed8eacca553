import type { Sample } from './registry.ts';

export type Tally = ReturnType<typeof createTally>;

/**
 * Counts values by size, for a histogram. The library builds a text of the labels for each value, which costs a
 * microsecond; this takes nanoseconds.
 */
export function createTally(bounds: readonly number[]) {
  const counts = new Float64Array(bounds.length + 1);
  let sum = 0;

  return {
    add(value: number): void {
      let i = 0;
      while (i < bounds.length && value > (bounds[i] ?? 0)) i++;
      counts[i] = (counts[i] ?? 0) + 1;
      sum += value;
    },
    /** The samples of a histogram: how many values were at most each bound, their number and their sum. */
    samples(name: string, labels: Sample['labels']): Sample[] {
      let total = 0;
      const buckets = [...counts].map((count, i) => {
        total += count;
        const le = bounds[i] ?? '+Inf';
        return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: total },
      ];
    },
  };
}
