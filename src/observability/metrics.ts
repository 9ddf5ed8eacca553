import type { Clock, Log } from '../runtime.ts';
import { createCounts } from './counts.ts';
import { createGauges, type Sources } from './gauges.ts';
import { type MetricsServer, serveMetrics } from './metrics-server.ts';
import type { Measures } from './port.ts';
import { createRegistry } from './registry.ts';

/** Loaded only when METRICS_PORT is set. */
export type Metrics = {
  /** What the parts of the service are given, so that they tell what they do. */
  measures: Measures;
  /** Says where gauges are read, as soon as it is there. */
  read(sources: Sources): void;
  /** Every metric there is, those of the process included. */
  describe(): readonly { name: string; type: string; help: string }[];
  /** Serves them. Rejects with Node's error when the port cannot be listened on. */
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
