import { setTimeout as sleep } from 'node:timers/promises';
import { database as limits } from '../../src/limits.ts';
import type { Check } from '../crash/check.ts';
import { createLedger, type Entry, enter, type Ledger, plantJson } from '../crash/ledger.ts';
import { verifyPlants } from '../crash/verify.ts';
import { ask } from '../load/client.ts';
import { summary } from '../measure/report.ts';
import type { Server } from '../servers/server.ts';
import { TOKEN } from '../servers/service.ts';
import { failuresOf, settleUnknown, startClients } from './clients/clients.ts';
import { readDatabase } from './clients/stored.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { makeServer, makeStandby, type PostgresServer, STANDBY } from './servers/servers.ts';

const CLIENTS = 8;
const THINK_MS = 50;
const LOOK_MS = 20;
/** How late an answer may be on a busy machine, after its deadline or the end of its wait. */
const SLACK_MS = 2_500;

/**
 * The synchronous standby is killed, so commits wait for it: one until the service gives up, others until someone
 * cancels their wait or ends their session. No client is told that its plant exists. When the standby is back,
 * everything unknown is retried, and both servers must have the same data.
 */
export async function standbyGone({ rounds, random }: Plan): Promise<Findings> {
  const [primary, standby] = [await makeServer(), await makeStandby()];
  standby.followFrom(await startedAndStopped(primary));
  await primary.start({ synchronous_standby_names: STANDBY });
  await standby.start();
  const replica = await startReplica(primary.url());
  const ledger = createLedger();
  const waits: Wait[] = [];
  const reads: number[] = [];
  // The token's first use today is written in the background; without the standby, it would wait before the create.
  await settleKeyed(replica, enter(ledger, { chosen: false, tagged: true }), ledger);
  for (let round = 0; round < rounds; round++) {
    await standby.kill();
    waits.push(await untilDeadline({ replica, ledger, reads }));
    const load = {
      urls: () => [replica.url],
      ledger,
      clients: CLIENTS,
      random,
      thinkMs: THINK_MS,
      chosen: 1,
    };
    const clients = startClients(load);
    try {
      for (const how of ['pg_cancel_backend', 'pg_terminate_backend'] as const) {
        waits.push(await untilBrokenOff({ replica, ledger, primary, how }));
      }
      await standby.start();
    } finally {
      await clients.stop();
    }
    await settleUnknown(load);
    for (const { entry } of waits) await settleKeyed(replica, entry, ledger);
  }
  await replica.stop();
  const checks = verifyPlants(await readDatabase(primary.url()), ledger);
  const same = await compare(primary, standby);
  await standby.stop();
  await primary.stop();
  return findingsOf([...checks, ...waits.map(checkOfWait), readsGoOn(reads), same], waits, ledger);
}

async function startedAndStopped(server: PostgresServer): Promise<PostgresServer> {
  await server.start();
  await server.stop();
  return server;
}

/** A create with a key and without an id, and its first answer. */
type Wait = { how: string; entry: Entry; code: number; ms: number; from: number; to: number };

type Place = { replica: Server; ledger: Ledger };

/** The first create waits alone, and so for as long as the service allows. Reads continue meanwhile. */
async function untilDeadline({ replica, ledger, reads }: Place & { reads: number[] }): Promise<Wait> {
  const sent = sendKeyed(replica, enter(ledger, { chosen: false, tagged: true }));
  let isOver = false;
  void sent.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    reads.push((await ask(`${replica.url}/plants?limit=5`)).status);
    await sleep(10 * LOOK_MS);
  }
  return { ...(await sent), how: 'deadline', from: limits.writeMs, to: limits.writeMs + SLACK_MS };
}

type Breaking = Place & { primary: PostgresServer; how: 'pg_cancel_backend' | 'pg_terminate_backend' };

/** Breaks off every wait as soon as it starts, until the create has its answer. */
async function untilBrokenOff({ replica, ledger, primary, how }: Breaking): Promise<Wait> {
  const sent = sendKeyed(replica, enter(ledger, { chosen: false, tagged: true }));
  let isOver = false;
  void sent.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await primary.query(`SELECT ${how}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
    await sleep(LOOK_MS);
  }
  return { ...(await sent), how, from: 0, to: SLACK_MS };
}

async function sendKeyed(replica: Server, entry: Entry): Promise<Pick<Wait, 'entry' | 'code' | 'ms'>> {
  const start = performance.now();
  const answer = await postKeyed(replica, entry);
  const code = answer.status === 201 ? 201 : Number(JSON.parse(await answer.text()).error);
  if (code === 201) acknowledge(entry, answer);
  else entry.state = 'unknown';
  return { entry, code, ms: performance.now() - start };
}

function postKeyed({ url }: Server, entry: Entry): Promise<Response> {
  return fetch(`${url}/plants`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
      'idempotency-key': JSON.stringify(entry.name),
    },
    body: plantJson({ ...entry, id: undefined }),
  });
}

function acknowledge(entry: Entry, answer: Response): void {
  entry.id = BigInt(answer.headers.get('location')?.split('/').at(-1) ?? 0);
  entry.state = 'acknowledged';
}

const PATIENCE_MS = 30_000;

/** Retries it under its key until it is answered. */
async function settleKeyed(replica: Server, entry: Entry, ledger: Ledger): Promise<void> {
  for (const start = performance.now(); performance.now() - start < PATIENCE_MS; await sleep(LOOK_MS)) {
    const answer = await postKeyed(replica, entry);
    await answer.text();
    if (answer.status !== 201) continue;
    acknowledge(entry, answer);
    return;
  }
  ledger.violations.push(`${entry.name} has no answer after the standby is back`);
}

function checkOfWait({ how, code, ms, from, to }: Wait): Check {
  const isRight = code === 50301 && ms >= from && ms <= to;
  return {
    name: `${how}: outcome unknown (50301), in time`,
    count: 1,
    violations: isRight ? [] : [`${code} after ${ms.toFixed(0)} ms`],
  };
}

function readsGoOn(statuses: number[]): Check {
  return {
    name: 'reads continue while commits wait',
    count: statuses.length,
    violations: statuses.filter((status) => status !== 200).map(String),
  };
}

const CONTENT = `SELECT md5(string_agg(p::text, ',' ORDER BY p.owner, p.id)) AS plants,
  (SELECT md5(string_agg(e::text, ',' ORDER BY e.owner, e.id)) FROM events e) AS events,
  (SELECT md5(string_agg(i::text, ',' ORDER BY i.user_id, i.request)) FROM idempotency i) AS answers
  FROM plants p`;

/** Compares both servers once the standby has caught up. */
async function compare(primary: PostgresServer, standby: PostgresServer): Promise<Check> {
  const [at] = await primary.query('SELECT pg_current_wal_flush_lsn() AS lsn');
  const behind = `SELECT pg_last_wal_replay_lsn() < '${at?.lsn}' AS is_behind`;
  while ((await standby.query(behind))[0]?.is_behind) await sleep(LOOK_MS);
  const [here, there] = [await primary.query(CONTENT), await standby.query(CONTENT)].map((rows) =>
    JSON.stringify(rows),
  );
  const violations = here === there ? [] : [`${here} on the primary, ${there} on the standby`];
  return { name: 'the standby has the same data as the primary', count: 1, violations };
}

function findingsOf(checks: Check[], waits: Wait[], ledger: Ledger): Findings {
  const merged = [...Map.groupBy(checks, ({ name }) => name)].map(([name, same]) => ({
    name,
    count: same.reduce((sum, { count }) => sum + count, 0),
    violations: same.flatMap(({ violations }) => violations),
  }));
  const times = [...Map.groupBy(waits, ({ how }) => how)].map(([how, same]) => {
    const { median, max } = summary(same.map(({ ms }) => ms));
    return `${how}: answered after ${median.toFixed(0)} ms (median), at most ${max.toFixed(0)} ms`;
  });
  return { checks: merged, notes: [...times, `answers other than 201: ${failuresOf(ledger)}`] };
}
