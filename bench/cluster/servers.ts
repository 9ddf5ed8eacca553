import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { createDiskFaults, type DiskFaults } from '../faults/disk-faults.ts';
import { TOKEN } from '../servers/service.ts';
import { addresses, type Machine } from './network.ts';
import type { Program } from './programs.ts';

/** The programs of the cluster, configured by the files in `ops/`. */

export const DATABASES = ['pg1', 'pg2', 'pg3'] as const;
export const MEMBERS = ['etcd1', 'etcd2', 'etcd3'] as const;
export const REPLICAS = ['app1', 'app2', 'app3'] as const;
export type Database = (typeof DATABASES)[number];
export type Replica = (typeof REPLICAS)[number];

export const PORTS = {
  service: 3000,
  postgres: 5432,
  pgbouncer: 6432,
  delayed: 5433,
  patroni: 8008,
} as const;
const PASSWORDS = { postgres: 'postgres', service: 'secret' };

/** As in `ops/patroni.yaml`. */
export const POSTGRES_FOLDER = '/usr/lib/postgresql/15/bin';

/** The uid and gid of the user `postgres`: PostgreSQL and PgBouncer refuse to run as root. */
export type Owner = { uid: number; gid: number };

export function urlFor(role: 'postgres' | 'plant_store', hosts: string, database = 'plant_store'): string {
  const password = PASSWORDS[role === 'postgres' ? 'postgres' : 'service'];
  return `postgres://${role}:${password}@${hosts}/${database}`;
}

export const CREATE_DATABASE = `CREATE DATABASE plant_store OWNER plant_store ENCODING 'UTF8' TEMPLATE template0`;
/** The statements that an empty cluster needs. */
export const SETUP = [
  `CREATE ROLE plant_store LOGIN PASSWORD '${PASSWORDS.service}'`,
  CREATE_DATABASE,
  // PgBouncer lets no session settings through.
  `ALTER ROLE plant_store SET idle_in_transaction_session_timeout = '10s'`,
];

export function etcd(member: Machine, folder: string): Program {
  const [peer, client] = [2380, 2379].map((port) => `http://${addresses[member]}:${port}`);
  const all = MEMBERS.map((each) => `${each}=http://${addresses[each]}:2380`).join();
  const flags = {
    ...{ name: member, 'data-dir': join(folder, member), 'initial-cluster': all },
    ...{ 'listen-peer-urls': peer, 'initial-advertise-peer-urls': peer },
    ...{ 'listen-client-urls': client, 'advertise-client-urls': client },
    // Three members, three servers and the load share two cores.
    ...{ 'pre-vote': true, 'heartbeat-interval': 250, 'election-timeout': 2_500 },
  };
  const command = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  return { machine: member, command: ['etcd', '--log-level=warn', ...command] };
}

/** A server under Patroni, and the faults of its disk. */
export function patroni(
  database: Database,
  folder: string,
  { uid, gid }: Owner,
): { program: Program; disk: DiskFaults } {
  const own = join(folder, database);
  mkdirSync(own);
  const disk = createDiskFaults(own);
  const [file, data, host] = [join(own, 'patroni.yaml'), join(own, 'data'), addresses[database]];
  const settings = parse(readOps('patroni.yaml'));
  settings.name = database;
  settings.restapi = { listen: `${host}:${PORTS.patroni}`, connect_address: `${host}:${PORTS.patroni}` };
  settings.etcd3.hosts = MEMBERS.map((each) => `${addresses[each]}:2379`);
  settings.bootstrap.dcs.postgresql.parameters.shared_buffers = '32MB';
  Object.assign(settings.postgresql, {
    listen: `${host}:${PORTS.postgres}`,
    connect_address: `${host}:${PORTS.postgres}`,
    data_dir: data,
    pgpass: join(own, 'pgpass'),
    parameters: { unix_socket_directories: '' },
    pg_hba: [
      'host all all 10.213.0.0/24 scram-sha-256',
      'host replication replicator 10.213.0.0/24 scram-sha-256',
    ],
  });
  settings.postgresql.authentication.superuser.password = PASSWORDS.postgres;
  writeFileSync(file, JSON.stringify(settings));
  for (const path of [own, file, join(own, 'diskfault.control')]) chownSync(path, uid, gid);
  const program = {
    machine: database,
    command: ['patroni', file],
    env: { ...disk.env(data), HOME: own },
    user: 'postgres',
  };
  return { program, disk };
}

/** Forwards a machine's port 5432 to the primary. */
export function haproxyToPrimary(machine: Machine, folder: string): Program {
  const text = DATABASES.reduce(
    (all, database, n) =>
      all.replace(new RegExp(`server db-${'abc'[n]} .*`), `server ${database} ${addresses[database]}:5432`),
    readOps('haproxy-postgresql.cfg'),
  );
  return haproxy(machine, folder, text.replace(/bind .*/, `bind 0.0.0.0:${PORTS.postgres}`));
}

/** In front of the replicas. */
export function haproxyToReplicas(folder: string): Program {
  const text = REPLICAS.reduce(
    (all, replica, n) =>
      all.replace(
        new RegExp(`server ${'abc'[n]} .*`),
        `server ${replica} ${addresses[replica]}:${PORTS.service}`,
      ),
    readOps('haproxy.cfg'),
  )
    .replace(/bind .*/, `bind 0.0.0.0:${PORTS.service}`)
    .replace(/stats socket \S+/, `stats socket ${join(folder, 'haproxy.sock')}`);
  return haproxy('haproxy', folder, text);
}

function haproxy(machine: Machine, folder: string, text: string): Program {
  const file = join(folder, `${machine}-haproxy.cfg`);
  writeFileSync(file, text);
  return { machine, command: ['haproxy', '-q', '-db', '-f', file] };
}

/** Reaches the primary through a proxy that can delay (`delay.ts`) and the machine's own HAProxy. */
export function pgbouncer(folder: string, { uid, gid }: Owner): Program {
  const [file, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'pgbouncer-users.txt')];
  writeFileSync(users, `"plant_store" "${PASSWORDS.service}"\n`);
  const text = readOps('pgbouncer.ini')
    .replace(/port=5432/, `port=${PORTS.delayed}`)
    .replace(/^listen_addr = .*/m, 'listen_addr = 0.0.0.0\nunix_socket_dir =')
    .replace(/^auth_file = .*/m, `auth_file = ${users}`);
  writeFileSync(file, text);
  for (const path of [file, users]) chownSync(path, uid, gid);
  return { machine: 'pgbouncer', command: ['pgbouncer', '-q', file], user: 'postgres' };
}

export function delayingProxy(delayFile: string): Program {
  writeFileSync(delayFile, '0');
  const file = fileURLToPath(new URL('delay.ts', import.meta.url));
  const ports = [PORTS.delayed, PORTS.postgres].map(String);
  return { machine: 'pgbouncer', command: [process.execPath, file, ...ports, delayFile] };
}

export const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
/** No delivery may run out of attempts. */
const SCHEDULE = ['0s', ...Array.from({ length: 99 }, () => '500ms')].join();

/** Matches the command line of a replica. */
export const SERVICE = /plant-store serve/;
/** The folder of the program under test. */
export const THIS_VERSION = fileURLToPath(new URL('../..', import.meta.url));

/** A link to the folder of the version that a replica runs. */
export function programOf(replica: Replica, folder: string): string {
  return join(folder, `${replica}-program`);
}

/** Has a replica run another version from its next start on. */
export function useVersion(replica: Replica, root: string, folder: string): void {
  rmSync(programOf(replica, folder), { force: true });
  symlinkSync(root, programOf(replica, folder));
}

/** A replica whose clock is what `clockFile` says, such as `+3600`: seconds added. */
export function service(replica: Replica, databaseUrl: string, clockFile: string, folder: string): Program {
  writeFileSync(clockFile, '+0');
  return {
    machine: replica,
    command: [process.execPath, join(programOf(replica, folder), 'bin', 'plant-store'), 'serve'],
    env: {
      DATABASE_URL: databaseUrl,
      ...(databaseUrl.includes(`:${PORTS.pgbouncer}/`) && { DATABASE_POOLER: 'transaction' }),
      BOOTSTRAP_TOKEN: TOKEN,
      HOST: '0.0.0.0',
      PORT: String(PORTS.service),
      DATA_DIR: folder,
      TRUST_PROXY: `${addresses.haproxy}/32`,
      WEBHOOK_ALLOWED_NETWORKS: '10.213.0.0/24',
      WEBHOOK_RETRY_SCHEDULE: SCHEDULE,
      LD_PRELOAD: FAKETIME,
      FAKETIME_TIMESTAMP_FILE: clockFile,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DISABLE_SHM: '1',
    },
  };
}

/** Makes the folder accessible to the user `postgres`. */
export function share(folder: string, { uid, gid }: Owner): void {
  chownSync(folder, uid, gid);
  chmodSync(folder, 0o755);
}

function readOps(name: string): string {
  return readFileSync(new URL(`../../ops/${name}`, import.meta.url), 'utf8');
}
