import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PROGRAM } from '../../testkit/processes/executable.ts';
import type { Check } from '../crash/check.ts';
import { ask } from '../load/client.ts';
import { summary } from '../measure/report.ts';
import type { Server } from '../servers/server.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { hasPgbouncer, startPgbouncer } from './servers/pgbouncer.ts';
import { makeServer, NO_FSYNC, type PostgresServer } from './servers/servers.ts';

const REPLICAS = 3;
const MOST_MS = 5_000;
/** How long to keep using a token after it was revoked: longer than any replica may accept it. */
const WATCH_MS = 6_000;
const LOOK_MS = 10;
const CUT_EVERY_MS = 50;

/**
 * Revokes a token on the command line while three replicas use it: with hints, with hint connections that keep
 * breaking, and through a pooler, which has none. Measures, by this machine's clock, from the stored time of revocation
 * to the last answer other than 401.
 */
export async function revoke({ rounds }: Plan): Promise<Findings> {
  const server = await makeServer();
  await server.start(NO_FSYNC);
  const parts = [
    await revokeAt(server, { name: 'with hints', rounds, url: server.url() }),
    await withoutEars(server, () => revokeAt(server, { name: 'without hints', rounds, url: server.url() })),
    await throughPooler(server, rounds),
  ];
  await server.stop();
  return {
    checks: parts.flatMap(({ checks }) => checks),
    notes: parts.flatMap(({ notes }) => notes),
  };
}

type Part = { name: string; rounds: number; url: string; env?: Record<string, string> };

async function revokeAt(server: PostgresServer, { name, rounds, url, env = {} }: Part): Promise<Findings> {
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => startReplica(url, env)));
  await command(server, 'user', 'create', `user-${name.replaceAll(' ', '-')}`);
  const delays: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const token = await command(server, 'token', 'create', '--user', `user-${name.replaceAll(' ', '-')}`);
    delays.push(...(await revokeOne(server, token, replicas)));
  }
  await Promise.all(replicas.map((replica) => replica.stop()));
  const { median, max } = summary(delays);
  const check: Check = {
    name: `${name}: refused by every replica within ${MOST_MS / 1000} s`,
    count: delays.length,
    violations: delays.filter((delay) => delay > MOST_MS).map((delay) => `after ${delay} ms`),
  };
  return {
    checks: [check],
    notes: [`${name}: refused after ${median.toFixed(0)} ms (median), at most ${max.toFixed(0)} ms`],
  };
}

/** Milliseconds until each replica refused it. */
async function revokeOne(
  server: PostgresServer,
  token: string,
  replicas: readonly Server[],
): Promise<number[]> {
  const watch = new AbortController();
  const watching = replicas.map(({ url }) => lastTaken(url, token, watch.signal));
  await sleep(10 * LOOK_MS);
  const [row] = await server.query('SELECT id FROM tokens ORDER BY created_at DESC LIMIT 1');
  await command(server, 'token', 'revoke', String(row?.id));
  const [revoked] = await server.query(`SELECT revoked_at FROM tokens WHERE id = '${row?.id}'`);
  const late = setTimeout(() => watch.abort(), WATCH_MS);
  const times = await Promise.all(watching);
  clearTimeout(late);
  // A replica that never accepted the token shows nothing.
  return times.map((at) => (at === 0 ? Infinity : Math.max(0, at - Number(revoked?.revoked_at))));
}

/**
 * Sends requests until the token, once accepted, has been refused for a while; resolves with the time of the last accepted
 * one, 0 if there was none.
 */
async function lastTaken(url: string, token: string, signal: AbortSignal): Promise<number> {
  let last = 0;
  for (let refused = 0; refused < 5 && !signal.aborted; ) {
    const { status } = await ask(`${url}/plants?limit=1`, { token });
    if (status === 200 || (status !== 401 && last > 0)) last = Date.now();
    refused = status === 401 && last > 0 ? refused + 1 : 0;
    await sleep(LOOK_MS);
  }
  return last;
}

/** Keeps ending all listening connections while the work runs. */
async function withoutEars<T>(server: PostgresServer, work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const cutting = server.session(async (query) => {
    while (!isOver) {
      await query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store hints'`,
      );
      await sleep(CUT_EVERY_MS);
    }
  });
  try {
    return await work();
  } finally {
    isOver = true;
    await cutting;
  }
}

async function throughPooler(server: PostgresServer, rounds: number): Promise<Findings> {
  if (!hasPgbouncer()) return { checks: [], notes: ['PgBouncer is not installed: the pooler was skipped'] };
  const pooler = await startPgbouncer(server);
  const env = { DATABASE_POOLER: 'transaction' };
  const findings = await revokeAt(server, { name: 'through PgBouncer', rounds, url: pooler.url, env });
  await pooler.stop();
  return findings;
}

/** Runs a verb on the store; resolves with its output. */
async function command(server: PostgresServer, ...args: string[]): Promise<string> {
  const env = { ...process.env, DATABASE_URL: server.url() };
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], { env });
  return stdout.trim();
}
