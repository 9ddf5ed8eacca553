import { setTimeout as sleep } from 'node:timers/promises';
import type { Check } from '../crash/check.ts';
import { startReceiver } from '../servers/receiver.ts';
import type { Server } from '../servers/server.ts';
import { createWebhook } from '../servers/webhooks.ts';
import { addBacklogIn, countDeliveriesIn, multiplyWebhookIn } from '../stores/postgres-store.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { asOtherHost, whyNoOtherHost } from './servers/other-host.ts';
import { makeServer, NO_FSYNC } from './servers/servers.ts';

const LANES = { whole: 10_000, quick: 1_000 };
/** Deliveries added before each check: more than are sent until its end. */
const DELIVERIES = { whole: 200_000, quick: 100_000 };
/** After replicas joined or left. */
const SPREAD_MS = 15_000;
/** The allowed deviation of a replica's share from the even one. */
const TOLERANCE = 0.2;
/** Time to send to every lane once. */
const PATIENCE_MS = 90_000;
const LOOK_MS = 100;

/** Loopback addresses that replicas send from. */
const hostOf = (n: number) => `127.0.0.${n + 2}`;

/**
 * Ten thousand lanes with work, and three replicas, one of which is stopped and another added: for how many lanes
 * each replica sends fifteen seconds later. A receiver identifies the sender by its address.
 */
export async function lanes({ rounds, isQuick }: Plan): Promise<Findings> {
  const why = whyNoOtherHost();
  if (why !== undefined) throw new Error(`Telling replicas apart ${why}`);
  const [count, deliveries] = isQuick ? [LANES.quick, DELIVERIES.quick] : [LANES.whole, DELIVERIES.whole];
  const server = await makeServer();
  await server.start(NO_FSYNC);
  const watch = await startWatch();
  const replicas = new Map<string, Server>();
  const codes: (number | null)[] = [];
  let started = 0;
  const start = async () => {
    const host = hostOf(started++);
    const env = asOtherHost({ address: { from: host, toPort: Number(new URL(watch.url).port) } });
    const replica = await startReplica(server.url(), env);
    replicas.set(host, replica);
    return replica;
  };
  const stop = async () => {
    const [host = '', replica] = [...replicas][0] ?? [];
    replicas.delete(host);
    codes.push((await replica?.stop()) ?? null);
  };

  await createWebhook(await start(), watch.url);
  await multiplyWebhookIn(server.url(), count);
  for (let n = 1; n < 3; n++) await start();
  const looks: Look[] = [];
  const look = async (name: string) => {
    process.stderr.write(`${name} …\n`);
    await addBacklogIn(server.url(), deliveries / count);
    await sleep(SPREAD_MS);
    const senders = await watch.untilAll(count);
    const left = await countDeliveriesIn(server.url(), 'pending');
    looks.push({ name, count, left, ...senders, replicas: [...replicas.keys()] });
  };
  await look('three replicas');
  for (let round = 0; round < rounds; round++) {
    await stop();
    await look('one stopped');
    await start();
    await look('one added');
  }
  while (replicas.size > 0) await stop();
  const { requests, duplicates } = watch.counts;
  await watch.stop();
  await server.stop();
  return {
    checks: [
      ...looks.map(checkOf),
      {
        name: 'no delivery was sent twice',
        count: requests,
        violations: duplicates > 0 ? [`${duplicates} came again`] : [],
      },
      {
        name: 'SIGTERM ended the replicas with 0',
        count: codes.length,
        violations: codes.filter((code) => code !== 0).map((code) => `with ${code}`),
      },
    ],
    notes: looks.map(noteOf),
  };
}

type Senders = {
  /** Lanes by the replica that sent for them last. */
  shares: Map<string, number>;
  /** Lanes for which two replicas sent. */
  moved: number;
  seconds: number;
};

type Look = Senders & { name: string; count: number; left: number; replicas: string[] };

type Watch = {
  url: string;
  counts: { requests: number; duplicates: number };
  /** Records the senders from now on, until every lane has sent. */
  untilAll(lanes: number): Promise<Senders>;
  stop(): Promise<void>;
};

/** A receiver for all lanes, each with its own path. */
async function startWatch(): Promise<Watch> {
  const counts = { requests: 0, duplicates: 0 };
  const seen = new Set<string>();
  let senders = new Map<string, string>();
  const moved = new Set<string>();
  const receiver = await startReceiver(({ path, event, request, response }) => {
    const from = request.socket.remoteAddress ?? '';
    counts.requests++;
    const key = `${path} ${event}`;
    if (seen.has(key)) counts.duplicates++;
    seen.add(key);
    if ((senders.get(path) ?? from) !== from) moved.add(path);
    senders.set(path, from);
    response.writeHead(204).end();
  });
  return {
    url: receiver.url,
    counts,
    async untilAll(lanes) {
      senders = new Map();
      moved.clear();
      const begin = performance.now();
      while (senders.size < lanes && performance.now() - begin < PATIENCE_MS) await sleep(LOOK_MS);
      const byHost = Map.groupBy(senders.values(), (host) => host);
      const shares = new Map([...byHost].map(([host, same]) => [host, same.length]));
      return { shares, moved: moved.size, seconds: (performance.now() - begin) / 1000 };
    },
    stop: receiver.down,
  };
}

function checkOf({ name, count, left, shares, replicas }: Look): Check {
  const even = count / replicas.length;
  const all = [...shares.values()].reduce((sum, share) => sum + share, 0);
  const uneven = [...new Set([...replicas, ...shares.keys()])].filter((host) => {
    const expected = replicas.includes(host) ? even : 0;
    return Math.abs((shares.get(host) ?? 0) - expected) > even * TOLERANCE;
  });
  return {
    name: `${name}: each replica has its share of ${count} lanes, within ${TOLERANCE * 100} %`,
    count: replicas.length,
    violations: [
      ...uneven.map((host) => `${host} has ${shares.get(host) ?? 0} lanes instead of ${even.toFixed(0)}`),
      ...(all < count ? [`${count - all} lanes were sent nothing, with ${left} deliveries left`] : []),
    ],
  };
}

function noteOf({ name, shares, moved, seconds, left, replicas }: Look): string {
  const parts = replicas.map((host) => String(shares.get(host) ?? 0));
  return (
    `${name}: ${parts.join(', ')} lanes each, all seen within ${seconds.toFixed(1)} s; ` +
    `${moved} changed hands meanwhile; ${left} deliveries were left`
  );
}
