import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DiskFaults } from '../faults/disk-faults.ts';
import { type Answer, ask } from '../load/client.ts';
import { queryOnce } from '../postgres/servers/servers.ts';
import { addresses, type Machine, signal } from './network.ts';
import { type Kept, keepRunning, type Program } from './programs.ts';
import {
  CREATE_DATABASE,
  DATABASES,
  type Database,
  delayingProxy,
  etcd,
  haproxyToPrimary,
  haproxyToReplicas,
  MEMBERS,
  type Owner,
  PORTS,
  patroni,
  pgbouncer,
  programOf,
  REPLICAS,
  type Replica,
  SERVICE,
  SETUP,
  service,
  share,
  THIS_VERSION,
  urlFor,
  useVersion,
} from './servers.ts';

export type Cluster = {
  /** Of HAProxy, then of each replica; without a trailing slash. */
  urls: readonly string[];
  /** For the owner of the store, through the HAProxy of the first replica. */
  databaseUrl: string;
  /** The same for the superuser. */
  adminUrl: string;
  /** The programs of each machine. */
  kept: ReadonlyMap<Machine, readonly Kept[]>;
  disks: Readonly<Record<Database, DiskFaults>>;
  /** Adds seconds to a replica's clock. */
  setClock(replica: Replica, seconds: number): void;
  /** Delays what passes between PgBouncer and the primary, in both directions. */
  setDelay(ms: number): void;
  /** The server that Patroni names the primary; undefined when none answers that. */
  primary(): Promise<Database | undefined>;
  /** The file of the version that the first replica runs. */
  program: string;
  /** Stops a replica as systemd does, and starts the version in a folder in its place; resolves when it is ready. */
  update(replica: Replica, root: string): Promise<void>;
  /** Gives all replicas an empty database and the version in a folder. */
  startOver(root: string): Promise<void>;
  /** When a server began to accept writes, by `performance.now()`. */
  promotions: readonly { database: Database; at: number }[];
  /** Resolves when a primary and two standbys run and every replica is ready. Throws when that takes minutes. */
  untilWhole(): Promise<void>;
};

/**
 * Starts everything. The network exists, and this process runs on the machine `clients`.
 * @param namesHosts whether the second replica knows the database servers themselves, instead of HAProxy
 */
export async function startCluster(folder: string, namesHosts: boolean): Promise<Cluster> {
  const owner = ownerOf('postgres');
  share(folder, owner);
  const kept = new Map<Machine, Kept[]>();
  const start = (program: Program) => {
    kept.set(program.machine, [...(kept.get(program.machine) ?? []), keepRunning(program, folder)]);
  };
  for (const member of MEMBERS) start(etcd(member, folder));

  const promotions: Cluster['promotions'][number][] = [];
  const disks: Partial<Record<Database, DiskFaults>> = {};
  for (const database of DATABASES) {
    const { program, disk } = patroni(database, folder, owner);
    disks[database] = disk;
    const onLine = (line: string) => {
      if (line.endsWith('database system is ready to accept connections'))
        promotions.push({ database, at: performance.now() });
    };
    start({ ...program, onLine });
  }
  for (const machine of ['app1', 'app2', 'app3', 'pgbouncer'] as const)
    start(haproxyToPrimary(machine, folder));
  const delayFile = join(folder, 'delay');
  start(delayingProxy(delayFile));
  start(pgbouncer(folder, owner));
  const throughFirst = `${addresses.app1}:${PORTS.postgres}`;
  const adminUrl = urlFor('postgres', throughFirst, 'postgres');
  await prepare(adminUrl);

  const clocks = { app1: join(folder, 'clock1'), app2: join(folder, 'clock2'), app3: join(folder, 'clock3') };
  for (const replica of REPLICAS) {
    useVersion(replica, THIS_VERSION, folder);
    start(service(replica, urlFor('plant_store', hostsFor(replica, namesHosts)), clocks[replica], folder));
  }
  start(haproxyToReplicas(folder));

  const urls = ['haproxy', ...REPLICAS].map((machine) => urlOf(machine as Machine));
  return {
    urls,
    databaseUrl: urlFor('plant_store', throughFirst),
    adminUrl,
    kept,
    // Every database has been given one.
    disks: disks as Record<Database, DiskFaults>,
    setClock: (replica, seconds) => writeFileSync(clocks[replica], `${seconds < 0 ? '' : '+'}${seconds}`),
    setDelay: (ms) => writeFileSync(delayFile, String(ms)),
    primary,
    program: join(programOf('app1', folder), 'bin', 'plant-store'),
    update(replica, root) {
      useVersion(replica, root, folder);
      return restart(replica);
    },
    async startOver(root) {
      const services = REPLICAS.map((replica) => kept.get(replica)?.at(-1));
      for (const service of services) service?.hold();
      for (const replica of REPLICAS) signal(replica, 'SIGKILL', SERVICE);
      await queryOnce(adminUrl, 'DROP DATABASE plant_store WITH (FORCE)');
      await queryOnce(adminUrl, CREATE_DATABASE);
      for (const replica of REPLICAS) useVersion(replica, root, folder);
      for (const service of services) service?.release();
    },
    promotions,
    untilWhole: () => until('the cluster is whole', () => isWhole(urls)),
  };
}

function urlOf(machine: Machine): string {
  return `http://${addresses[machine]}:${PORTS.service}`;
}

async function restart(replica: Replica): Promise<void> {
  signal(replica, 'SIGTERM', SERVICE);
  await until(`${replica} is stopped`, async () => !(await isReady(urlOf(replica))));
  await until(`${replica} is ready`, () => isReady(urlOf(replica)));
}

/** The third replica goes through PgBouncer, the others through the HAProxy on their own machine. */
function hostsFor(replica: Replica, namesHosts: boolean): string {
  if (namesHosts && replica === 'app2')
    return DATABASES.map((database) => `${addresses[database]}:${PORTS.postgres}`).join();
  if (replica === 'app3') return `${addresses.pgbouncer}:${PORTS.pgbouncer}`;
  return `127.0.0.1:${PORTS.postgres}`;
}

async function prepare(url: string): Promise<void> {
  await until('a primary', () => queryOnce(url, 'SELECT 1'));
  for (const statement of SETUP) await queryOnce(url, statement);
}

async function primary(): Promise<Database | undefined> {
  const answers = await Promise.all(DATABASES.map((database) => askPatroni(database, 'primary')));
  return DATABASES.find((_, n) => answers[n]?.status === 200);
}

/** The answer of a server's Patroni; undefined without one. */
function askPatroni(database: Database, path: string): Promise<Answer | undefined> {
  const signal = AbortSignal.timeout(1_000);
  return ask(`http://${addresses[database]}:${PORTS.patroni}/${path}`, { signal }).catch(() => undefined);
}

async function isWhole(urls: readonly string[]): Promise<boolean> {
  const ready = await Promise.all(urls.map(isReady));
  const views = await Promise.all(DATABASES.map(membersSeenBy));
  return ready.every(Boolean) && views.every(areTogether);
}

type Member = { role: string; state: string; timeline?: number };

async function membersSeenBy(database: Database): Promise<Member[]> {
  return JSON.parse((await askPatroni(database, 'cluster'))?.body ?? '{"members":[]}').members;
}

/** A primary and two standbys on its timeline. A former primary that must first be rewound has another timeline. */
function areTogether(members: readonly Member[]): boolean {
  const roles = members.map(({ role }) => role).toSorted();
  const timelines = new Set(members.map(({ timeline }) => timeline));
  const doRun = members.every(({ state }) => state === 'running' || state === 'streaming');
  return roles.join() === 'leader,quorum_standby,quorum_standby' && timelines.size === 1 && doRun;
}

async function isReady(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(1_000);
  const answer = await ask(`${url}/readyz`, { signal }).catch(() => undefined);
  return answer?.status === 200;
}

const PATIENCE_MS = 180_000;
const LOOK_MS = 200;

/** Waits until something holds, or throws after three minutes. An error counts as not yet. */
export async function until(what: string, holds: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  while (!(await holds().catch(() => false))) {
    if (performance.now() - start > PATIENCE_MS) throw new Error(`Gave up after three minutes: ${what}`);
    await sleep(LOOK_MS);
  }
}

export function ownerOf(user: string): Owner {
  const idOf = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}
