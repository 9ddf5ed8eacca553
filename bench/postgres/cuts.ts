import type { Check } from '../crash/check.ts';
import { createLedger } from '../crash/ledger.ts';
import { verifyPlants } from '../crash/verify.ts';
import { countOf, isReplay, putInTheWay, violationsOf } from '../load/keyed-checks.ts';
import { type KeyedCreate, keyedCreate, sendUntilAnswered } from '../load/keyed-creates.ts';
import { untilNoneLeft } from '../measure/wait.ts';
import { failuresOf, settleUnknown, startClients } from './clients/clients.ts';
import { readDatabase } from './clients/stored.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { type CommitProxy, startCommitProxy } from './servers/commit-proxy.ts';
import { makeServer, NO_FSYNC, type PostgresServer } from './servers/servers.ts';

const CLIENTS = 16;
const THINK_MS = 5;

/**
 * The network between the service and PostgreSQL breaks around commits, while clients create plants and retry what
 * was not answered: under a key, or with an id and no key. Batches are transactions of several statements that are sent
 * together.
 */
export async function cuts({ rounds, random, isQuick }: Plan): Promise<Findings> {
  const server = await makeServer();
  await server.start(NO_FSYNC);
  const share = Math.ceil(rounds / 2);
  const common = { server, random, isQuick };
  const all = [
    await underKeys({ ...common, database: 'keys', breaks: share }),
    await withIds({ ...common, database: 'ids', breaks: share }),
  ];
  await server.stop();
  return { checks: all.flatMap(({ checks }) => checks), notes: all.flatMap(({ notes }) => notes) };
}

type Part = {
  server: PostgresServer;
  random: () => number;
  isQuick: boolean;
  /** Of its own. */
  database: string;
  breaks: number;
};

async function behindProxy({ server, random, isQuick, database }: Part) {
  await server.query(`CREATE DATABASE ${database}`);
  const proxy = await startCommitProxy(server.port, { random, isQuick });
  const replica = await startReplica(server.url(database).replace(String(server.port), String(proxy.port)));
  return { proxy, replica };
}

async function underKeys(part: Part): Promise<Findings> {
  const { database, breaks, random } = part;
  const { proxy, replica } = await behindProxy(part);
  await putInTheWay(replica.url);
  proxy.rage();
  const creates: KeyedCreate[] = [];
  function* untilBroken(): Generator<KeyedCreate> {
    while (proxy.broken() < breaks) {
      const create = keyedCreate(creates.length + 1);
      creates.push(create);
      yield create;
    }
  }
  await sendUntilAnswered(replica.url, untilBroken(), { clients: CLIENTS, random, tries: 1 });
  proxy.calm();
  const { violations, found } = await violationsOf(replica.url, creates);
  await replica.stop();
  await proxy.stop();
  const replayed = creates.filter(({ answers }) => answers.every(isReplay)).length;
  return {
    checks: [
      {
        name: `${database}: one plant, one event, one answer for each key`,
        count: creates.length,
        violations,
      },
    ],
    notes: [
      `${database}: ${creates.length} creates, ${countOf(creates, found.plants)} plants, ${countOf(creates, found.events)} events; ${replayed} were done and heard of by a retry only`,
      fatesOf(database, proxy),
    ],
  };
}

async function withIds(part: Part): Promise<Findings> {
  const { server, database, breaks, random } = part;
  const { proxy, replica } = await behindProxy(part);
  const ledger = createLedger();
  const load = { urls: () => [replica.url], ledger, clients: CLIENTS, random, thinkMs: THINK_MS, chosen: 1 };
  proxy.rage();
  const clients = startClients(load);
  await untilNoneLeft('breaks', async () => breaks - proxy.broken());
  proxy.calm();
  await clients.stop();
  await settleUnknown(load);
  await replica.stop();
  await proxy.stop();
  const checks = verifyPlants(await readDatabase(server.url(database)), ledger);
  const { retriedCreated, retriedTaken } = ledger.counts;
  return {
    checks: checks.map((check): Check => ({ ...check, name: `${database}: ${check.name}` })),
    notes: [
      `${database}: ${ledger.entries.size} creates; of the retries ${retriedCreated} were created then, ${retriedTaken} were there; other answers: ${failuresOf(ledger)}`,
      fatesOf(database, proxy),
    ],
  };
}

function fatesOf(database: string, { counts }: CommitProxy): string {
  const shapes = Object.entries(counts).map(([shape, fates]) => {
    const times = Object.entries(fates).map(([fate, count]) => `${count} ${fate}`);
    return `commits by ${shape}: ${times.join(', ')}`;
  });
  return `${database}: ${shapes.join('; ')}`;
}
