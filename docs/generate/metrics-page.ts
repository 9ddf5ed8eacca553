import { collectDefaultMetrics, Registry } from 'prom-client';
import { observability as limits } from '../../src/limits.ts';
import { catalogue, type Metric } from '../../src/observability/catalogue.ts';
import { code, table } from './table.ts';

const INTRODUCTION = `# Metrics

What \`/metrics\` on \`METRICS_PORT\` exports, in the text format of Prometheus.
[Observe](../how-to/observe.md) says how to have it scraped, and has a dashboard and alerts.

Units are in the names: seconds and bytes. A label takes few values: no user, webhook, path or text of a client is ever
one. Counters and histograms begin at zero with each start.

**Replica** means that each replica reports its own part: add them up. **Store** means that every replica reports the
same figure, for the whole store: take the largest (\`max\`). With the data folder there is one replica.`;

const PROCESS = `## The process

The library \`prom-client\` exports these for every Node process, under the names that dashboards for Node expect. Each
covers one replica. \`nodejs_eventloop_lag_*\` is about the main thread. It is sampled every 10 ms, so no value is below
10 ms, and it starts over with each scrape.`;

const COST = `## What they cost

Without \`METRICS_PORT\` nothing is counted or loaded. With it a request costs half a microsecond more. A scrape takes a
few milliseconds, however much the store holds: the service counts only webhooks, at most every 15 s (on the embedded
store ${limits.webhooksRead} in one turn of the event loop, on PostgreSQL in one statement). Counting ten thousand of
them, with four million deliveries, took some 50 ms. \`plant_store_webhook_reading_age_seconds\` is the age of that count.
The number of waiting deliveries would cost more and is not exported; \`plant-store webhook list\` shows it for one user.`;

/** The metrics of the client library, as a service exports them. */
export async function metricsPage(): Promise<string> {
  const own = Object.values<Metric>(catalogue);
  const rows = own.map(({ name, type, labels = [], of = 'replica', help }) => [
    code(name),
    type,
    labels.map(code).join(', '),
    of,
    help,
  ]);
  const library = new Registry();
  collectDefaultMetrics({ register: library });
  const ofProcess = library
    .getMetricsAsArray()
    .map(({ name, type, help }) => [code(name), String(type), help]);
  return [
    INTRODUCTION,
    '## The service',
    table(['Metric', 'Type', 'Labels', 'Of', 'Meaning'], rows),
    buckets(own),
    PROCESS,
    table(['Metric', 'Type', 'Meaning'], ofProcess),
    COST,
  ].join('\n\n');
}

function buckets(metrics: readonly Metric[]): string {
  const rows = metrics
    .filter((metric) => metric.buckets !== undefined)
    .map(({ name, buckets = [] }) => [code(name), buckets.join(', ')]);
  return `Histograms count in these buckets, each with values up to its bound:\n\n${table(['Histogram', 'Up to'], rows)}`;
}
