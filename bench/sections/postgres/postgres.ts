import { askFor } from '../../load/client.ts';
import type { Load } from '../../load/load.ts';
import { ratios, type Sample } from '../../measure/compare.ts';
import { type Figure, type Report, summary } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import {
  type BenchDatabase,
  createUserIn,
  describeWork,
  type Party,
  type PostgresSample,
  recycleSegments,
  sampleOn,
  startDatabase,
  startFastifyPg,
} from '../../servers/postgres.ts';
import type { Server } from '../../servers/server.ts';
import { startService, TOKEN } from '../../servers/service.ts';
import { LOAD_CORE, SERVER_CORE } from '../../servers/tools.ts';
import { loopbackAllowed } from '../../servers/webhooks.ts';
import { addPlantsIn, openStoreIn, timeCreatesOf } from '../../stores/postgres-store.ts';
import { createLoad } from '../requests/create.ts';
import { tails } from './tails.ts';

const PLANTS = 1000;
const CONNECTIONS = createLoad.connections;
/** The reference's pool sizes, of which the better one counts; the service has the first, its default. */
const POOLS = [10, 20] as const;

const listLoad: Load = {
  method: 'GET',
  paths: ['/plants?limit=20'],
  token: TOKEN,
  connections: CONNECTIONS,
};

/**
 * One long file because its parts share one database server and belong together. The service on PostgreSQL, against a
 * straightforward server on the same database and against itself. When the database runs on the core of the servers,
 * a figure covers all CPU time of an answer. On the core of the load it takes no time from either server, as on a
 * separate machine, but from the generator.
 */
export async function postgres(bench: Bench): Promise<Report> {
  const database = await startDatabase();
  bench.say('segments of the write-ahead log …');
  await recycleSegments(await database.create('recycled'));
  const parts = [
    () => againstReference(bench, database, { kind: 'create', load: createLoad, atLeast: 3 }),
    () => againstReference(bench, database, { kind: 'list', load: listLoad, atLeast: 0.9 }),
    () => replicas(bench, database),
    () => ids(bench, database),
  ];
  const reports: Report[] = [];
  for (const part of parts) reports.push(await part());
  await database.stop();
  return {
    figures: reports.flatMap(({ figures }) => figures),
    loads: new Map(reports.flatMap(({ loads }) => [...(loads ?? [])])),
    notes: reports.flatMap(({ notes }) => notes ?? []),
  };
}

/** A service on a database, with settings. */
function startOn(bench: Bench, url: string, env: Record<string, string> = {}): Promise<Server> {
  return startService({ dataDir: bench.folder, env: { DATABASE_URL: url, ...env } });
}

type Against = { kind: 'create' | 'list'; load: Load; atLeast: number };

async function againstReference(
  bench: Bench,
  database: BenchDatabase,
  { kind, load, atLeast }: Against,
): Promise<Report> {
  bench.say(`${kind} …`);
  const url = await database.create(`against_${kind}`);
  const service = await startOn(bench, url);
  await addPlantsIn(url, PLANTS);
  const servers = new Map([['service', service]]);
  for (const pool of POOLS) {
    servers.set(`Fastify and pg, pool of ${pool}`, await startFastifyPg(url, pool));
  }
  if (kind === 'list') {
    servers.set('Fastify and pg, the same SQL', await startFastifyPg(url, POOLS[0], { SAME_SQL: '1' }));
  }
  const parties = (where: string): Party[] =>
    [...servers].map(([name, server]) => ({ name: `${where}: ${name}`, url, servers: [{ server, load }] }));
  const [here, apart] = [`postgres, ${kind}`, `postgres, ${kind}, database apart`];
  const loads = await rounds(bench, database, parties(here), 'long');
  const notes: string[] = [];
  for (const party of parties(here).slice(0, 2)) notes.push(...(await describeWork(database, party)));
  const late = kind === 'create' ? await tails(bench, contendersOf(parties(here), loads)) : { figures: [] };
  database.moveTo(LOAD_CORE);
  const loadsApart = await rounds(bench, database, parties(apart), 'brief');
  database.moveTo(SERVER_CORE);
  for (const server of servers.values()) await server.stop();
  const what = kind === 'create' ? 'durable POST /plants' : `GET ${load.paths[0]}, ${PLANTS} plants`;
  return {
    figures: [
      {
        name: `PostgreSQL: ${what}, ${CONNECTIONS} connections, against Fastify and pg`,
        unit: '×',
        values: againstBest(loads),
        target: { atLeast },
      },
      {
        name: 'the same, CPU time of server and database per answer',
        unit: '×',
        values: cpuAgainstBest(loads),
      },
      {
        name: 'the same requests, database on the core of the load',
        unit: '×',
        values: againstBest(loadsApart),
      },
      ...late.figures,
    ],
    loads: new Map([...loads, ...loadsApart]),
    notes: [...notes, ...(late.notes ?? [])],
  };
}

/** The service and the best of the others. */
function contendersOf(parties: Party[], loads: Map<string, Sample[]>) {
  const find = (wanted: string) => {
    const server = parties.find(({ name }) => name === wanted)?.servers[0]?.server;
    if (!server) throw new Error(`${wanted} is not running`);
    return { name: wanted, server, peak: medianRate(loads, wanted) };
  };
  return [find(firstOf(loads)), find(bestOfOthers(loads))] as const;
}

/** The rate of the first against the best of the others. */
function againstBest(loads: Map<string, Sample[]>): number[] {
  return ratios(loads, [firstOf(loads), bestOfOthers(loads)]);
}

/** The CPU time of the best of the others as a multiple of the first's, which holds on a busy machine, too. */
function cpuAgainstBest(loads: Map<string, PostgresSample[]>): number[] {
  const total = ({ database, ...sample }: PostgresSample): Sample => ({
    ...sample,
    cpuPerAnswer: sample.cpuPerAnswer + database.cpuPerAnswer,
  });
  const totals = new Map([...loads].map(([name, samples]) => [name, samples.map(total)]));
  return ratios(totals, [bestOfOthers(loads), firstOf(loads)], ({ cpuPerAnswer }) => cpuPerAnswer);
}

function firstOf(loads: Map<string, Sample[]>): string {
  const [first = ''] = loads.keys();
  return first;
}

function bestOfOthers(loads: Map<string, Sample[]>): string {
  const [, ...others] = loads.keys();
  const [best = ''] = others.toSorted((a, b) => medianRate(loads, b) - medianRate(loads, a));
  return best;
}

function medianRate(loads: Map<string, Sample[]>, name: string): number {
  return summary((loads.get(name) ?? []).map(({ rate }) => rate)).median;
}

/** `brief`: contenders without a target. */
type Length = 'long' | 'brief';

/**
 * Loads the contenders in turn, after a warm-up. Unlike `compare`, it does not repeat a disturbed round: there the
 * CPU times tell what the rates do not.
 */
async function rounds(bench: Bench, database: BenchDatabase, parties: Party[], length: Length) {
  const { count, seconds } = bench.quick
    ? { count: 2, seconds: 1 }
    : { long: { count: 5, seconds: 2 }, brief: { count: 3, seconds: 1 } }[length];
  const samples = new Map<string, PostgresSample[]>(parties.map(({ name }) => [name, []]));
  for (let round = -1; round < count; round++) {
    for (const party of parties) {
      const sample = await sampleOn(database, party, seconds);
      if (round >= 0) samples.get(party.name)?.push(sample);
    }
  }
  return samples;
}

/** Creates under other conditions, against the creates above. */
async function replicas(bench: Bench, database: BenchDatabase): Promise<Report> {
  bench.say('replicas …');
  const url = await database.create('replicas');
  // Nothing is sent: this measures the rows of deliveries, not their dispatch.
  const start = (env?: Record<string, string>) =>
    startOn(bench, url, { ...loopbackAllowed, ROLES: 'api', ...env });
  const first = await start();
  const second = await start();
  const pooled = await start({ DATABASE_POOLER: 'transaction' });
  const other = createUserIn(url, 'other');
  const subscriber = createUserIn(url, 'subscriber');
  await askFor(`${first.url}/webhooks`, {
    method: 'POST',
    body: JSON.stringify({ url: 'http://127.0.0.1:9/' }),
    token: subscriber,
  });
  const half = { ...createLoad, connections: CONNECTIONS / 2 };
  const one = (name: string, server: Server, token = TOKEN): Party => ({
    name: `postgres, creates: ${name}`,
    url,
    servers: [{ server, load: { ...createLoad, token } }],
  });
  const two = (name: string, token: string): Party => ({
    name: `postgres, creates: ${name}`,
    url,
    servers: [
      { server: first, load: half },
      { server: second, load: { ...half, token } },
    ],
  });
  const contenders = {
    one: one('one replica', first),
    subscribed: one('with a webhook', first, subscriber),
    pooled: one('as behind PgBouncer', pooled),
    twoOfOne: two('two replicas, one user', TOKEN),
    twoOfTwo: two('two replicas, two users', other),
  };
  const loads = await rounds(bench, database, Object.values(contenders), 'brief');
  const notes = await describeWork(database, contenders.subscribed);
  for (const server of [first, second, pooled]) await server.stop();
  const figure = (name: string, party: Party): Figure => ({
    name,
    unit: '×',
    values: ratios(loads, [party.name, contenders.one.name]),
  });
  return {
    figures: [
      figure('creates with a webhook subscribed, against without', contenders.subscribed),
      figure('creates without prepared statements (DATABASE_POOLER=transaction)', contenders.pooled),
      figure('creates by two replicas on the same core, for one user, against one', contenders.twoOfOne),
      figure('the same, each for a user of its own', contenders.twoOfTwo),
    ],
    loads,
    notes,
  };
}

/** Creates with the client's ids, against creates with ids from the store; of the store, without HTTP. */
async function ids(bench: Bench, database: BenchDatabase): Promise<Report> {
  bench.say('ids …');
  const store = await openStoreIn(await database.create('ids'));
  const chosen: number[] = [];
  const given: number[] = [];
  for (let round = -1; round < (bench.quick ? 2 : 5); round++) {
    const [first, second] = [await timeCreatesOf(store, 'chosen'), await timeCreatesOf(store, 'given')];
    if (round < 0) continue;
    chosen.push(first);
    given.push(second);
  }
  await store.close();
  return {
    figures: [
      { name: 'creates of the store alone, which chooses the ids', unit: '/s', values: chosen },
      { name: 'the same, with given ids', unit: '/s', values: given },
    ],
  };
}
