import { collectDefaultMetrics, type Metric as LibraryMetric, Registry } from 'prom-client';
import type { Clock, Log } from '../runtime.ts';
import { catalogue } from './catalogue.ts';
import { createCounts, type Sample } from './counts.ts';
import { createGauges, type Sources } from './gauges.ts';
import { type MetricsPlace, serveMetrics } from './metrics-server.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** Loaded only when METRICS_PORT is set. */
export function createMetrics(parts: { clock: Clock; log: Log; version: string }, at: MetricsPlace) {
  const { measures, samples } = createCounts();
  return {
    /** Given to the parts of the service, which report through it. */
    measures,
    /** Serves every metric. Rejects with Node's error when it cannot listen on the port: then no service starts. */
    async listen(sources: Sources) {
      const registry = createRegistry({ ...samples, ...createGauges(sources, parts) });
      const server = await serveMetrics(at, registry, parts.log);
      parts.log.info({ url: server.url }, 'serving metrics');
      return server;
    },
  };
}

/** The functions that read or count each metric on demand. */
type Samples = Readonly<Record<keyof typeof catalogue, () => readonly Sample[] | Promise<readonly Sample[]>>>;

/** A registry with every metric of the catalogue, and the library's own metrics of the process. */
function createRegistry(samples: Samples): Registry {
  const registry = new Registry();
  for (const [key, { name, type, help }] of Object.entries(catalogue)) {
    // The keys of the catalogue are those of the samples.
    const read = samples[key as keyof Samples];
    const get = async () => ({ name, type, help, values: await read() });
    // The registry uses only these members of a metric; its declaration requires the library's own classes.
    registry.registerMetric({ name, type, help, get } as unknown as LibraryMetric);
  }
  collectDefaultMetrics({ register: registry });
  return registry;
}
