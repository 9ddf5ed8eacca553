import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { interleave, ratios, type Sample } from '../../measure/compare.ts';
import { type Figure, type Report, summary } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { untilNoneLeft } from '../../measure/wait.ts';
import { type FastReceiver, sampleSender, startFastReceiver } from '../../servers/fast-receiver.ts';
import { addJobs, runWorker, startWorker, tunings } from '../../servers/graphile-worker.ts';
import { type BenchDatabase, runSql, startDatabase } from '../../servers/postgres.ts';
import { type ServiceOptions, startService } from '../../servers/service.ts';
import { readRequest } from '../../servers/undici-loop.ts';
import { createWebhook, loopbackAllowed } from '../../servers/webhooks.ts';
import { addBacklog, countDeliveries } from '../../stores/backlog.ts';
import { addBacklogIn, countDeliveriesIn } from '../../stores/postgres-store.ts';

/** Requests in flight, as in the section `deliver`. */
const CONCURRENCY = 16;

const SERVICE = 'postgres-deliver: service';
const EMBEDDED = 'postgres-deliver: embedded store';
const BEFORE = 'postgres-deliver: version before';

/**
 * Deliveries of the service on PostgreSQL, which runs on the service's core: their rate against the embedded store
 * and a job queue on the same server, and what they leave in the database.
 */
export async function postgresDeliver(bench: Bench): Promise<Report> {
  const database = await startDatabase();
  const receiver = await startFastReceiver();
  const rates = await compareRates(bench, database, receiver);
  bench.say('what deliveries leave …');
  const costs = await measureCosts(bench, database, receiver);
  await receiver.stop();
  await database.stop();
  return { ...rates, figures: [...rates.figures, ...costs] };
}

/** A sender of a given number of deliveries, from a database server that others may share. */
type Contender = { send(): Promise<Sample>; stop(): Promise<unknown> };

async function compareRates(bench: Bench, database: BenchDatabase, receiver: FastReceiver): Promise<Report> {
  const { count, rounds } = bench.quick ? { count: 2_000, rounds: 2 } : { count: 20_000, rounds: 5 };
  const parts = { bench, database, receiver, count };
  const contenders = new Map<string, Contender>();
  contenders.set(SERVICE, await startOnPostgres(parts, 'rate'));
  contenders.set(EMBEDDED, await startEmbedded(parts));
  if (bench.before !== undefined) {
    contenders.set(BEFORE, await startOnPostgres(parts, 'rate_before', bench.before));
  }
  for (const contender of contenders.values()) await contender.send();
  const { headers, body } = readRequest((await receiver.tally()).sample ?? '');
  for (const [name, tuning] of Object.entries(tunings)) {
    const contender = await startJobs(parts, { headers, body, tuning });
    await contender.send();
    contenders.set(`${WORKER}${name}`, contender);
  }
  const takes = [...contenders].map(([name, { send }]) => [name, send] as const);
  const loads = await interleave(new Map(takes), rounds);
  for (const { stop } of contenders.values()) await stop();
  return { figures: figuresOf(loads), loads };
}

const WORKER = 'postgres-deliver: graphile-worker, ';

type Parts = { bench: Bench; database: BenchDatabase; receiver: FastReceiver; count: number };

async function startOnPostgres(parts: Parts, name: string, root?: string): Promise<Contender> {
  const url = await parts.database.create(name);
  const service = await start(parts.receiver, {
    dataDir: parts.bench.folder,
    env: { DATABASE_URL: url },
    root,
  });
  return {
    send: () =>
      sampleBeside(parts, service, async () => {
        await addBacklogIn(url, parts.count);
        await parts.receiver.received(parts.count);
        await untilNoneLeft('deliveries without an outcome', () => countDeliveriesIn(url, 'pending'));
      }),
    stop: service.stop,
  };
}

async function startEmbedded(parts: Parts): Promise<Contender> {
  const dataDir = join(parts.bench.folder, 'postgres-deliver');
  mkdirSync(dataDir);
  const service = await start(parts.receiver, { dataDir });
  return {
    send: () =>
      sampleBeside(parts, service, async () => {
        addBacklog(dataDir, parts.count);
        await parts.receiver.received(parts.count);
        await untilNoneLeft('deliveries without an outcome', () => countDeliveries(dataDir, 'pending'));
      }),
    stop: service.stop,
  };
}

async function start(receiver: FastReceiver, { env, ...options }: ServiceOptions) {
  const all = { ...loopbackAllowed, WEBHOOK_CONCURRENCY: String(CONCURRENCY), ...env };
  const service = await startService({ ...options, env: all });
  await createWebhook(service, `${receiver.url}/`);
  return service;
}

type Jobs = { headers: Record<string, string>; body: string; tuning: (typeof tunings)[string] };

/** The service's requests, sent by a job queue. */
async function startJobs(parts: Parts, { headers, body, tuning }: Jobs): Promise<Contender> {
  const { database, receiver, count: jobs } = parts;
  const databaseUrl = await database.create(`jobs_${Object.values(tunings).indexOf(tuning)}`);
  const worker = await startWorker(databaseUrl);
  return {
    send: () =>
      sampleBeside(parts, worker, async () => {
        await addJobs(databaseUrl, jobs, body);
        await runWorker(worker, { jobs, url: `${receiver.url}/`, headers, tuning });
        await untilNoneLeft('jobs', async () => {
          const [row] = await runSql(databaseUrl, 'SELECT count(*) AS left FROM graphile_worker.jobs');
          return Number(row?.left);
        });
      }),
    stop: worker.stop,
  };
}

/** The database's processes serve only this sender, so their CPU time counts as the sender's. */
async function sampleBeside(
  { database, receiver }: Parts,
  sender: Awaited<ReturnType<typeof startWorker>>,
  send: () => Promise<void>,
): Promise<Sample> {
  const used = database.cpuSeconds();
  const begin = performance.now();
  const sample = await sampleSender(sender, receiver, send);
  const databaseUsed = database.cpuSeconds() - used;
  const elapsed = (performance.now() - begin) / 1000;
  return {
    ...sample,
    cpuPerAnswer: sample.cpuPerAnswer + (databaseUsed / sample.requests) * 1e6,
    othersBusy: Math.max(0, sample.othersBusy - databaseUsed / elapsed),
  };
}

function figuresOf(loads: Map<string, Sample[]>): Figure[] {
  const median = (name: string) => summary((loads.get(name) ?? []).map(({ rate }) => rate)).median;
  const workers = [...loads.keys()].filter((name) => name.startsWith(WORKER));
  const [best = ''] = workers.toSorted((a, b) => median(b) - median(a));
  const mine = loads.get(SERVICE) ?? [];
  return [
    {
      name: 'deliveries to one fast receiver on PostgreSQL, against the embedded store',
      unit: '×',
      values: ratios(loads, [SERVICE, EMBEDDED]),
      target: { atLeast: 0.6 },
    },
    {
      name: `the same, against graphile-worker and fetch (${best.slice(WORKER.length)})`,
      unit: '×',
      values: ratios(loads, [SERVICE, best]),
      target: { atLeast: 3 },
    },
    { name: 'the same, deliveries a second', unit: '/s', values: mine.map(({ rate }) => rate) },
    {
      name: 'CPU of service and database per delivery, including its creation',
      unit: 'µs',
      values: mine.map(({ cpuPerAnswer }) => cpuPerAnswer),
    },
    ...(loads.has(BEFORE)
      ? [
          {
            name: 'deliveries a second on PostgreSQL, against the version before',
            unit: '×',
            values: ratios(loads, [SERVICE, BEFORE]),
          },
        ]
      : []),
  ];
}

/** Backlogs that are sent one after the other, as in the course of a day. */
const LOTS = 10;

async function measureCosts(
  bench: Bench,
  database: BenchDatabase,
  receiver: FastReceiver,
): Promise<Figure[]> {
  const lot = bench.quick ? 500 : 20_000;
  const url = await database.create('costs');
  const service = await start(receiver, { dataDir: bench.folder, env: { DATABASE_URL: url } });
  const wal: number[] = [];
  await receiver.reset();
  for (let n = 1; n <= LOTS; n++) {
    await addBacklogIn(url, lot);
    // Some are in flight by now: their writes are not counted.
    const [left, from] = [await countDeliveriesIn(url, 'pending'), await walEnd(url)];
    await receiver.received(n * lot);
    await untilNoneLeft('deliveries without an outcome', () => countDeliveriesIn(url, 'pending'));
    if (left > 0) wal.push(((await walEnd(url)) - from) / left / 1000);
  }
  // Its connections report their statistics when they end, at the latest.
  await service.stop();
  const deliveries = LOTS * lot;
  const [updates] = await runSql(
    url,
    `SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot
     FROM pg_stat_user_tables
     WHERE relname = 'deliveries'`,
  );
  const grown = await indexBytes(url);
  await runSql(url, 'REINDEX TABLE deliveries');
  const rebuilt = await indexBytes(url);
  const name = `PostgreSQL, of ${deliveries} deliveries, each`;
  return [
    {
      name: `${name}: updates of its row`,
      unit: '',
      values: [Number(updates?.all) / deliveries],
      target: { atMost: 1 },
    },
    {
      name: 'the same: HOT updates',
      unit: '%',
      values: [(Number(updates?.hot) / Number(updates?.all)) * 100],
    },
    { name: `${name}: write-ahead log`, unit: 'kB', values: wal, target: { atMost: 1 } },
    {
      name: `indexes of deliveries after ${deliveries}, against REINDEX`,
      unit: '×',
      values: [grown / rebuilt],
      target: { atMost: 1.5 },
    },
    { name: 'the same, size', unit: 'MB', values: [grown / 1e6] },
  ];
}

async function walEnd(url: string): Promise<number> {
  const [row] = await runSql(url, `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal`);
  return Number(row?.wal);
}

async function indexBytes(url: string): Promise<number> {
  const [row] = await runSql(url, `SELECT pg_indexes_size('deliveries') AS bytes`);
  return Number(row?.bytes);
}
