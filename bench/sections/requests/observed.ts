import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Load } from '../../load/load.ts';
import { compare, ratios, type Sample } from '../../measure/compare.ts';
import type { Figure, Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import { startService, TOKEN } from '../../servers/service.ts';
import { filledStore } from '../../stores/fill.ts';
import { createLoad } from './create.ts';

const list: Load = { method: 'GET', paths: ['/plants?limit=20'], token: TOKEN, connections: 32 };
const LOADS = { list, create: createLoad };

/** The cost of metrics and of tracing one request in twenty, against the same service without. */
export async function observed(bench: Bench): Promise<Report> {
  const collector = await startCollector();
  const variants = {
    plain: {},
    metrics: { METRICS_PORT: '0' },
    traces: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.05',
    },
  };
  const services = await Promise.all(
    Object.entries(variants).map(async ([name, env]) => {
      const folder = join(bench.folder, `observed-${name}`);
      mkdirSync(folder);
      return { name, server: await startService({ dataDir: await filledStore(folder, 1000), env }) };
    }),
  );
  const contenders = Object.entries(LOADS).flatMap(([kind, load]) =>
    services.map(({ name, server }) => ({ name: `${kind}: ${name}`, server, load })),
  );
  const loads = await compare(contenders, roundsOf(bench));
  for (const { server } of services) await server.stop();
  collector.stop();
  return { figures: Object.keys(LOADS).flatMap((kind) => figures(loads, kind)), loads };
}

function figures(loads: Map<string, Sample[]>, kind: string): Figure[] {
  const cpu = ({ cpuPerAnswer }: Sample) => cpuPerAnswer;
  return ['metrics', 'traces'].map((variant) => ({
    name: `CPU per answer, ${kind}: with ${variant}, against without`,
    unit: '×',
    values: ratios(loads, [`${kind}: ${variant}`, `${kind}: plain`], cpu),
  }));
}

/** Accepts what is exported and ignores it. */
async function startCollector(): Promise<{ url: string; stop(): void }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{}'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
