import { collectDefaultMetrics, type Metric as LibraryMetric, Registry } from 'prom-client';
import { catalogue, type Metric, type MetricKey } from './catalogue.ts';

/** A line of the export. `metricName` is set where it differs from the metric's name, as in a histogram. */
export type Sample = { labels: Record<string, string | number>; value: number; metricName?: string };

/** The functions that read or count each metric on demand. */
export type Samples = { readonly [K in MetricKey]: () => readonly Sample[] | Promise<readonly Sample[]> };

/** A registry with every metric of the catalogue, and the library's own metrics of the process. */
export function createRegistry(samples: Samples): Registry {
  const registry = new Registry();
  const definitions: Readonly<Record<MetricKey, Metric>> = catalogue;
  for (const [key, definition] of Object.entries(definitions)) {
    // The keys of the catalogue are those of the samples.
    register(registry, definition, samples[key as MetricKey]);
  }
  collectDefaultMetrics({ register: registry });
  return registry;
}

function register(
  registry: Registry,
  { name, type, help }: Metric,
  read: () => readonly Sample[] | Promise<readonly Sample[]>,
): void {
  const get = async () => ({ name, type, help, values: await read() });
  // The registry uses only these members of a metric; its declaration requires the library's own classes.
  registry.registerMetric({ name, type, help, get } as unknown as LibraryMetric);
}
