import type { Clock, Log } from '../runtime.ts';
import { createCounts } from './counts.ts';
import { createGauges, type Sources } from './gauges.ts';
import { type MetricsServer, serveMetrics } from './metrics-server.ts';
import type { Measures } from './port.ts';
import { createRegistry } from './registry.ts';

/** Loaded only when METRICS_PORT is set. */
export type Metrics = {
  /** Given to the parts of the service, which report through it. */
  measures: Measures;
  /** Sets where gauges are read, once that exists. */
  read(sources: Sources): void;
  /** Every metric, including those of the process. */
  describe(): readonly { name: string; type: string; help: string }[];
  /** Serves them. Rejects with Node's error when it cannot listen on the port. */
  listen(at: { port: number; host: string }): Promise<MetricsServer>;
};

export function createMetrics(parts: { clock: Clock; log: Log; version: string }): Metrics {
  const sources: Sources = {};
  const { measures, samples } = createCounts();
  const registry = createRegistry({ ...samples, ...createGauges(sources, parts) });
  return {
    measures,
    read: (more) => void Object.assign(sources, more),
    describe: () =>
      registry.getMetricsAsArray().map(({ name, type, help }) => ({ name, type: String(type), help })),
    listen: (at) => serveMetrics(at, registry),
  };
}
