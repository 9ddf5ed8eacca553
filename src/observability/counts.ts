import { catalogue as errors, statusOf } from '../errors.ts';
import { catalogue } from './catalogue.ts';
import { attemptEnds, type EndedRequest, type Happening, type Measures, queueNames } from './port.ts';

/** The status of a request whose client left; no response has it. */
const LEFT = 499;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);
/** Faults of the store or the service: the only failures of a command that count. */
const STORE_FAULTS = ['50000', '50301', '50302'];

/** A line of the export. `metricName` is set where it differs from the metric's name, as in a histogram. */
export type Sample = { labels: Record<string, string | number>; value: number; metricName?: string };

/** The metrics that are counted as events happen; the others are read on demand. */
export function createCounts() {
  const requests = requestTallies();
  const commands = talliesBy('queue', queueNames, catalogue.commitCommands);
  const commits = talliesBy('queue', queueNames, catalogue.commitDuration);
  const waits = talliesBy('queue', queueNames, catalogue.queueWait);
  const writeFailures = countBy(STORE_FAULTS);
  const durations = talliesBy('outcome', attemptEnds, catalogue.attemptDuration);
  const ends = countBy(attemptEnds);
  const failures = countBy(Object.keys(errors));
  let underWay = 0;
  const happened: Record<Happening, number> = { listsReset: 0, notMade: 0, pauses: 0, disabled: 0 };

  return {
    measures: {
      requestBegan: () => void underWay++,
      requestEnded(request) {
        underWay--;
        requests.add(request);
      },
      failed: (code) => failures.add(String(code)),
      refused(code, { method = '', durationMs } = { method: '', durationMs: 0 }) {
        failures.add(String(code));
        requests.add({ method, route: undefined, status: statusOf(code), durationMs });
      },
      batchEnded(queue, batch) {
        commands.of[queue].add(batch.commands);
        commits.of[queue].add(batch.commitMs / 1000);
        waits.of[queue].add(batch.waitMs / 1000);
        for (const code of batch.failures) writeFailures.add(String(code));
      },
      attemptEnded(end, durationMs) {
        ends.add(end);
        durations.of[end].add(durationMs / 1000);
      },
      happened: (what) => void happened[what]++,
    } satisfies Measures,
    samples: {
      requestDuration: requests.samples,
      requestsUnderWay: () => one(underWay),
      errors: () => failures.samples('error'),
      listsReset: () => one(happened.listsReset),
      commitCommands: commands.samples,
      commitDuration: commits.samples,
      queueWait: waits.samples,
      writeFailures: () => writeFailures.samples('error'),
      attempts: () => [...ends.samples('outcome'), ...by('outcome', { not_made: happened.notMade })],
      attemptDuration: durations.samples,
      pauses: () => one(happened.pauses),
      disabled: () => one(happened.disabled),
    },
  };
}

/** The samples of a metric without labels. */
export function one(value: number): Sample[] {
  return [{ labels: {}, value }];
}

/** A sample for each value of the label. */
export function by(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

/** Three short lookups per request; one key built from all labels would cost a string and its hash. */
function requestTallies() {
  const { name, buckets } = catalogue.requestDuration;
  const routes = new Map<string, Map<string, Map<number, Tally>>>();

  return {
    add({ method: given, route = 'none', status = LEFT, durationMs }: EndedRequest): void {
      const method = METHODS.has(given) ? given : 'other';
      const methods = routes.getOrInsertComputed(route, () => new Map<string, Map<number, Tally>>());
      const codes = methods.getOrInsertComputed(method, () => new Map<number, Tally>());
      codes.getOrInsertComputed(status, () => createTally(buckets)).add(durationMs / 1000);
    },
    samples: (): Sample[] =>
      [...routes].flatMap(([route, methods]) =>
        [...methods].flatMap(([method, codes]) =>
          [...codes].flatMap(([code, tally]) => tally.samples(name, { method, route, code })),
        ),
      ),
  };
}

/** Starts with a zero for each name: a counter that first appears with a value seems never to have increased. */
function countBy(names: readonly string[]) {
  const counts = new Map(names.map((name) => [name, 0]));
  return {
    add(name: string): void {
      const count = counts.get(name);
      if (count !== undefined) counts.set(name, count + 1);
    },
    samples: (label: string) => by(label, Object.fromEntries(counts)),
  };
}

function talliesBy<N extends string>(
  label: string,
  names: readonly N[],
  { name, buckets }: { name: string; buckets: readonly number[] },
) {
  const entries = names.map((each) => [each, createTally(buckets)] as const);
  return {
    // One entry for each of the names.
    of: Object.fromEntries(entries) as Record<N, Tally>,
    samples: () => entries.flatMap(([each, tally]) => tally.samples(name, { [label]: each })),
  };
}

type Tally = ReturnType<typeof createTally>;

/**
 * Counts values by size, for a histogram. The library builds a text of the labels for each value, which costs a
 * microsecond; this takes nanoseconds.
 */
function createTally(bounds: readonly number[]) {
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
