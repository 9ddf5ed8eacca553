import type { Clock, Log } from '../runtime.ts';
import { createCounts } from './counts.ts';
import { createGauges, type Sources } from './gauges.ts';
import { type MetricsPlace, serveMetrics } from './metrics-server.ts';
import { createRegistry } from './registry.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** Loaded only when METRICS_PORT is set. */
export function createMetrics(parts: { clock: Clock; log: Log; version: string }) {
  const sources: Sources = {};
  const { measures, samples } = createCounts();
  const registry = createRegistry({ ...samples, ...createGauges(sources, parts) });
  return {
    /** Given to the parts of the service, which report through it. */
    measures,
    /** Sets where gauges are read, once that exists. */
    read: (more: Sources) => void Object.assign(sources, more),
    /** Every metric, including those of the process. */
    describe: () =>
      registry.getMetricsAsArray().map(({ name, type, help }) => ({ name, type: String(type), help })),
    /** Serves them. Rejects with Node's error when it cannot listen on the port. */
    listen: (at: MetricsPlace) => serveMetrics(at, registry),
  };
}
