import { collectDefaultMetrics, Registry } from 'prom-client';
import { observability as limits } from '../../src/limits.ts';
import { catalogue, type Metric } from '../../src/observability/catalogue.ts';
import { code, table } from './table.ts';

const INTRODUCTION = `# Metrics

What \`/metrics\` on \`METRICS_PORT\` exports, in the text format of Prometheus.
[Observe](../how-to/observe.md) says how to have it scraped, and has a dashboard and alerts.

Units are in the names: seconds and bytes. A label takes few values: no user, webhook, path or text of a client is ever
one. Counters and histograms begin at zero with each start.

**Replica** means that each replica tells its own part: add them up. **Store** means that every replica tells the same of
the whole store: take the largest (\`max\`). With the data folder there is one replica.`;

const PROCESS = `## The process

What the library \`prom-client\` tells of every Node process, under the names that dashboards for Node know. Each is of
the replica. \`nodejs_eventloop_lag_*\` is about the main thread, measured every 10 ms, so that it is never below
that; it begins anew with each scrape.`;

const COST = `## What they cost

Without \`METRICS_PORT\` nothing is counted and nothing is loaded. With it a request costs half a microsecond more. A
scrape takes a few milliseconds, whatever is in the store: nothing is counted there but webhooks, every 15 s at most: on
the embedded store ${limits.webhooksRead} in one turn of the event loop, on PostgreSQL in one statement. Ten thousand of them, with four million deliveries, took some 50 ms in all;
\`plant_store_webhook_reading_age_seconds\` says how old that is. How many deliveries wait is therefore not exported;
\`plant-store webhook list\` counts them of one user.`;

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
