import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { freePort } from '../../testkit/sockets/free-port.ts';
import type { Check } from '../crash/check.ts';
import type { Server } from '../servers/server.ts';
import { TOKEN } from '../servers/service.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { type Haproxy, hasHaproxy, startHaproxy } from './servers/haproxy.ts';
import { makeServer, NO_FSYNC, queryOnce } from './servers/servers.ts';

const REPLICAS = 3;
const CONNECTIONS = 64;
const REQUESTS_OF_ROUND = 1_000;
/** Fewer creates have no key: a replica is taken out before each stop. */
const PLAIN_SHARE = 1 / 5;
/** From one replica's return until the next one stops. */
const PAUSE_MS = 300;
const LOOK_MS = 10;

/**
 * Three replicas behind HAProxy are stopped (SIGTERM) and restarted in turn, while clients list plants and create some
 * with keys. A round is a thousand requests. Then the same with creates that have neither key nor id, and replicas that
 * are taken out of HAProxy before they stop.
 */
export async function rolling({ rounds }: Plan): Promise<Findings> {
  if (!hasHaproxy()) return { checks: [], notes: ['HAProxy is not installed: skipped'] };
  const server = await makeServer();
  await server.start(NO_FSYNC);
  const ports = await Promise.all(Array.from({ length: REPLICAS }, freePort));
  const start = (n: number) =>
    startReplica(server.url(), { PORT: String(ports[n]), TRUST_PROXY: '127.0.0.1/32' });
  const replicas: Server[] = [];
  for (let n = 0; n < REPLICAS; n++) replicas.push(await start(n));
  const haproxy = await startHaproxy(ports);

  const requests = rounds * REQUESTS_OF_ROUND;
  const place = { haproxy, replicas, start };
  const keyed = await restartUnderLoad(place, { requests, post: keyedPost, takesOut: false });
  const plain = await restartUnderLoad(place, {
    requests: Math.ceil(requests * PLAIN_SHARE),
    post: plainPost,
    takesOut: true,
  });
  const retries = await haproxy.retries();
  await haproxy.stop();
  await Promise.all(replicas.map((replica) => replica.stop()));
  const parts = { 'with keys, SIGTERM': keyed, 'without keys, taken out first': plain };
  const checks = await Promise.all(
    Object.entries(parts).map(([name, outcome]) => checksOf(name, outcome, server.url())),
  );
  await server.stop();
  return {
    checks: checks.flat(),
    notes: [...Object.entries(parts).map(noteOf), `HAProxy retried ${retries} requests`],
  };
}

type Place = { haproxy: Haproxy; replicas: Server[]; start(n: number): Promise<Server> };

type Outcome = {
  requests: number;
  /** Names of plants whose creation was acknowledged. */
  created: string[];
  /** Answers other than 200 and 201. */
  failures: string[];
  restarts: number;
  /** Milliseconds. */
  slowest: number;
  codes: (number | null)[];
};

type Post = (name: string) => { body: string; headers: Record<string, string> };
const keyedPost: Post = (name) => ({
  body: JSON.stringify({ name }),
  headers: { 'idempotency-key': JSON.stringify(name) },
});
const plainPost: Post = (name) => ({ body: JSON.stringify({ name }), headers: {} });

async function restartUnderLoad(
  { haproxy, replicas, start }: Place,
  { requests, post, takesOut }: { requests: number; post: Post; takesOut: boolean },
): Promise<Outcome> {
  const codes: (number | null)[] = [];
  let isOver = false;
  async function restartAll(): Promise<void> {
    for (let n = 0; !isOver; n = (n + 1) % REPLICAS) {
      if (takesOut) await takeOut(haproxy, n);
      codes.push((await replicas[n]?.stop()) ?? null);
      replicas[n] = await start(n);
      if (takesOut) await haproxy.set(n, 'ready');
      await sleep(PAUSE_MS);
    }
  }
  const restarting = restartAll();
  const outcome = await sendAll(haproxy.url, requests, post);
  isOver = true;
  await restarting;
  return { ...outcome, restarts: codes.length, codes };
}

/** Lets the replica finish its pending requests, and sends it no new ones. */
async function takeOut(haproxy: Haproxy, n: number): Promise<void> {
  await haproxy.set(n, 'drain');
  while ((await haproxy.current(n)) > 0) await sleep(LOOK_MS);
}

async function sendAll(url: string, requests: number, post: Post) {
  const pool = new Pool(url, { connections: CONNECTIONS });
  const prefix = `Plant of ${requests}`;
  const created: string[] = [];
  const failures: string[] = [];
  const times: number[] = [];
  let sent = 0;

  async function client(): Promise<void> {
    while (sent < requests) {
      const number = ++sent;
      const started = performance.now();
      const name = `${prefix} ${number}`;
      const failure = await (number % 2 === 0 ? list(pool) : create(pool, post(name)));
      times.push(performance.now() - started);
      if (failure !== undefined) failures.push(`${number % 2 === 0 ? 'list' : name}: ${failure}`);
      else if (number % 2 === 1) created.push(name);
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  await pool.close();
  return { requests, created, failures, slowest: times.reduce((most, ms) => Math.max(most, ms), 0) };
}

const authorization = `Bearer ${TOKEN}`;

function list(pool: Pool): Promise<string | undefined> {
  return failureOf(
    pool.request({ method: 'GET', path: '/plants?limit=20', headers: { authorization } }),
    200,
  );
}

function create(pool: Pool, { body, headers }: ReturnType<Post>): Promise<string | undefined> {
  const all = { authorization, 'content-type': 'application/json', ...headers };
  return failureOf(pool.request({ method: 'POST', path: '/plants', headers: all, body }), 201);
}

/** Undefined for a complete answer with the expected status. */
async function failureOf(sent: ReturnType<Pool['request']>, status: number): Promise<string | undefined> {
  try {
    const { statusCode, body } = await sent;
    const text = await body.text();
    return statusCode === status ? undefined : `${statusCode} ${text.slice(0, 200)}`;
  } catch (error) {
    return String(error);
  }
}

async function checksOf(name: string, outcome: Outcome, url: string): Promise<Check[]> {
  const rows = await queryOnce(url, 'SELECT name, count(*) AS times FROM plants GROUP BY name');
  const times = new Map(rows.map((row) => [String(row.name), Number(row.times)]));
  const wrong = outcome.created.filter((plant) => times.get(plant) !== 1);
  const ended = outcome.codes.filter((code) => code !== 0);
  return [
    { name: `${name}: no request failed`, count: outcome.requests, violations: outcome.failures },
    {
      name: `${name}: each acknowledged plant exists once`,
      count: outcome.created.length,
      violations: wrong.map((plant) => `${plant} is there ${times.get(plant) ?? 0} times`),
    },
    {
      name: `${name}: SIGTERM ended the replica with 0`,
      count: outcome.restarts,
      violations: ended.map((code) => `with ${code}`),
    },
  ];
}

function noteOf([name, { requests, restarts, failures, slowest }]: [string, Outcome]): string {
  return `${name}: ${requests} requests, ${failures.length} failed, ${restarts} restarts, the slowest answer took ${slowest.toFixed(0)} ms`;
}
