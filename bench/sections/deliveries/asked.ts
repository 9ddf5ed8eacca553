import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askFor } from '../../load/client.ts';
import { monotonicMs } from '../../measure/clock.ts';
import type { Figure, Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { untilNoneLeft } from '../../measure/wait.ts';
import { startDatabase } from '../../servers/postgres.ts';
import { type Receiver, startReceiver } from '../../servers/receiver.ts';
import type { Server } from '../../servers/server.ts';
import { startService } from '../../servers/service.ts';
import { createWebhook, loopbackAllowed } from '../../servers/webhooks.ts';
import { addBacklog } from '../../stores/backlog.ts';
import { addBacklogIn } from '../../stores/postgres-store.ts';

/** Failed attempts until the webhook counts as failing and is only probed. */
const FAILED = 30;
/** Until the pauses between probes reach their maximum. */
const SETTLE_MS = 10_000;

/** A store with a failing webhook, and the service on it. */
type Place = { name: string; service: Server; webhook: string; add(count: number): Promise<void> };

/**
 * Manual deliveries go before the backlog: tests and redeliveries of a failing webhook with a long backlog, on both
 * stores.
 */
export async function asked(bench: Bench): Promise<Report> {
  const attempts = watchAttempts();
  const receiver = await startReceiver(({ event, response }) => {
    attempts.enter(event);
    response.writeHead(500).end();
  });
  const database = await startDatabase();
  const places = [
    await onSqlite(bench, receiver),
    await onPostgres(bench, receiver, await database.create('asked')),
  ];
  const figures: Figure[] = [];
  for (const place of places) {
    bench.say(`asked, ${place.name} …`);
    figures.push(...(await measure(bench, place, attempts)));
    await place.service.stop();
  }
  await receiver.down();
  await database.stop();
  return { figures };
}

async function onSqlite(bench: Bench, receiver: Receiver): Promise<Place> {
  const dataDir = join(bench.folder, 'asked');
  mkdirSync(dataDir);
  const service = await startService({ dataDir, env: loopbackAllowed });
  const { id: webhook } = await createWebhook(service, `${receiver.url}sqlite`);
  return { name: 'embedded', service, webhook, add: async (count) => addBacklog(dataDir, count) };
}

async function onPostgres(bench: Bench, receiver: Receiver, url: string): Promise<Place> {
  const env = { ...loopbackAllowed, DATABASE_URL: url };
  const service = await startService({ dataDir: bench.folder, env });
  const { id: webhook } = await createWebhook(service, `${receiver.url}postgres`);
  return { name: 'PostgreSQL', service, webhook, add: (count) => addBacklogIn(url, count) };
}

async function measure(bench: Bench, place: Place, attempts: Attempts): Promise<Figure[]> {
  const { backlog, rounds, patienceMs } = bench.quick
    ? { backlog: 5_000, rounds: 2, patienceMs: 3_000 }
    : { backlog: 100_000, rounds: 10, patienceMs: 20_000 };
  const { name, service, webhook, add } = place;
  const url = `${service.url}/webhooks/${webhook}`;
  await add(backlog);
  const before = attempts.count();
  await untilNoneLeft('attempts that fail', () => Math.max(0, before + FAILED - attempts.count()));
  await sleep(SETTLE_MS);
  const waiting = await deliveriesOf(url, rounds);
  const tests: number[] = [];
  const redeliveries: number[] = [];
  for (let round = 0; round < rounds; round++) {
    tests.push(await attempts.after(() => post(`${url}/test`), patienceMs));
    const event = waiting[round] ?? '';
    redeliveries.push(await attempts.after(() => post(`${url}/deliveries/${event}/redeliver`), patienceMs));
  }
  const figure = (what: string, values: number[]): Figure => ({
    name: `${name}: ${what} on a failing webhook with ${backlog} waiting: attempted after (Infinity: not in ${patienceMs / 1000} s)`,
    unit: 's',
    values,
    target: { atMost: 1 },
  });
  return [figure('a test', tests), figure('a redelivery', redeliveries)];
}

/** Waiting events: the newest, which are last in the backlog. */
async function deliveriesOf(url: string, count: number): Promise<string[]> {
  const { body } = await askFor(`${url}/deliveries?state=pending&limit=${count}`);
  return JSON.parse(body).map(({ event }: { event: string }) => event);
}

/** Resolves with the event that is sent. */
async function post(url: string): Promise<string> {
  const { body } = await askFor(url, { method: 'POST', body: '{}' });
  return JSON.parse(body).event;
}

type Attempts = {
  enter(event: string): void;
  count(): number;
  /** Seconds from the manual request to the next attempt of its event; Infinity when there is none in time. */
  after(ask: () => Promise<string>, patienceMs: number): Promise<number>;
};

function watchAttempts(): Attempts {
  /** When each event last arrived. */
  const times = new Map<string, number>();
  let count = 0;
  return {
    enter(event) {
      times.set(event, monotonicMs());
      count++;
    },
    count: () => count,
    async after(ask, patienceMs) {
      const start = monotonicMs();
      const event = await ask();
      while (monotonicMs() - start < patienceMs) {
        const at = times.get(event) ?? 0;
        if (at >= start) return (at - start) / 1000;
        await sleep(POLL_MS);
      }
      return Infinity;
    },
  };
}

const POLL_MS = 5;
