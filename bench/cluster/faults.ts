import type { Cluster } from './cluster.ts';
import { type Cut, killAll, lose, type Machine, machines, signal } from './network.ts';
import { DATABASES, type Database, MEMBERS, REPLICAS, SERVICE } from './servers.ts';

/** A fault that has begun: whom it hits, and how to end it. */
export type Begun = { target: string; end(): void };

type Kind = {
  /** From the shortest to the longest. */
  seconds: readonly [number, number];
  begin(place: Place): Begun;
};

/** Where a fault strikes. */
export type Place = { cluster: Cluster; primary: Database; random: () => number };

const BRIEF = [3, 10] as const;
/** Longer than Patroni's `ttl`, so that another server is promoted. */
const LONG = [24, 30] as const;

const POSTGRES = /^(\S*\/)?postgres[: ]/;
/** The programs to kill or stop, and where they run. */
const PROGRAMS: readonly { name: string; on: readonly Machine[]; pattern: RegExp }[] = [
  { name: 'PostgreSQL', on: DATABASES, pattern: POSTGRES },
  { name: 'Patroni', on: DATABASES, pattern: /patroni / },
  { name: 'etcd', on: MEMBERS, pattern: /^etcd / },
  { name: 'the service', on: REPLICAS, pattern: SERVICE },
  { name: 'HAProxy', on: ['haproxy', 'app1', 'app2', 'pgbouncer'], pattern: /^haproxy / },
];
const SERVERS = machines.filter((machine) => machine !== 'clients');

export const kinds: Readonly<Record<string, Kind>> = {
  'kill a process': { seconds: [1, 3], begin: (place) => signalOne('SIGKILL', place) },
  'stop a process': { seconds: BRIEF, begin: (place) => signalOne('SIGSTOP', place) },
  'kill PostgreSQL on the primary': {
    seconds: BRIEF,
    begin: ({ primary }) => signalled(primary, 'SIGKILL', POSTGRES),
  },
  'kill Patroni on the primary': {
    seconds: LONG,
    begin: ({ cluster, primary }) => without(cluster, primary, /patroni /),
  },
  'stop Patroni on the primary': {
    seconds: LONG,
    begin: ({ primary }) => signalled(primary, 'SIGSTOP', /patroni /),
  },
  'lose the primary': { seconds: LONG, begin: ({ cluster, primary }) => without(cluster, primary) },
  'stop the primary': { seconds: LONG, begin: ({ primary }) => signalled(primary, 'SIGSTOP') },
  'lose a replica': {
    seconds: LONG,
    begin: ({ cluster, random }) => without(cluster, one(REPLICAS, random)),
  },
  'stop a replica': { seconds: LONG, begin: ({ random }) => signalled(one(REPLICAS, random), 'SIGSTOP') },
  'cut off the primary': {
    seconds: LONG,
    begin: ({ primary }) => cut(primary, both([primary], allBut(primary))),
  },
  'cut off a machine': {
    seconds: BRIEF,
    begin({ random }) {
      const machine = one(SERVERS, random);
      return cut(machine, both([machine], allBut(machine)));
    },
  },
  'cut in halves': { seconds: LONG, begin: halves },
  'cut one direction': {
    seconds: LONG,
    begin({ random }) {
      const machine = one(SERVERS, random);
      return random() < 0.5
        ? cut(`from ${machine}`, oneWay([machine], allBut(machine)))
        : cut(`to ${machine}`, oneWay(allBut(machine), [machine]));
    },
  },
  'cut a replica from the databases': {
    seconds: LONG,
    begin({ random }) {
      const replica = one(REPLICAS, random);
      return cut(replica, both([replica], [...DATABASES, 'pgbouncer']));
    },
  },
  'cut the primary from etcd': {
    seconds: LONG,
    begin: ({ primary }) => cut(primary, both([primary], MEMBERS)),
  },
  'lose packets': {
    seconds: BRIEF,
    begin({ random }) {
      const machine = one(SERVERS, random);
      return cut(machine, both([machine], allBut(machine), 20));
    },
  },
  'delay the database': {
    seconds: BRIEF,
    begin({ cluster, random }) {
      const ms = Math.round(50 + random() * 1_000);
      cluster.setDelay(ms);
      return { target: `PgBouncer, ${ms} ms`, end: () => cluster.setDelay(0) };
    },
  },
  'set a clock': {
    seconds: BRIEF,
    begin({ cluster, random }) {
      const replica = one(REPLICAS, random);
      const seconds = random() < 0.5 ? 3_600 : -3_600;
      cluster.setClock(replica, seconds);
      return { target: `${replica}, ${seconds} s`, end: () => cluster.setClock(replica, 0) };
    },
  },
  'fill the disk of the primary': { seconds: BRIEF, begin: (place) => failing('write', 'ENOSPC', place) },
  'fail fsync on the primary': { seconds: BRIEF, begin: (place) => failing('fsync', 'EIO', place) },
  'restart PgBouncer': { seconds: [1, 3], begin: () => signalled('pgbouncer', 'SIGKILL', /^pgbouncer /) },
};

function one<T>(all: readonly T[], random: () => number): T {
  // `random` is below 1, and `all` is not empty.
  return all[Math.floor(random() * all.length)] as T;
}

function signalOne(name: 'SIGKILL' | 'SIGSTOP', { random }: Place): Begun {
  const program = one(PROGRAMS, random);
  const begun = signalled(one(program.on, random), name, program.pattern);
  return { ...begun, target: `${program.name} on ${begun.target}` };
}

/** What was killed is restarted soon. */
function signalled(machine: Machine, name: 'SIGKILL' | 'SIGSTOP', pattern?: RegExp): Begun {
  signal(machine, name, pattern);
  return { target: machine, end: () => void signal(machine, 'SIGCONT') };
}

/** Kills a machine, or one program on it, and restarts it at the end. */
function without(cluster: Cluster, machine: Machine, pattern?: RegExp): Begun {
  const kept = cluster.kept.get(machine) ?? [];
  for (const one of kept) one.hold();
  if (pattern) signal(machine, 'SIGKILL', pattern);
  else killAll(machine);
  return {
    target: machine,
    end() {
      for (const one of kept) one.release();
    },
  };
}

function failing(op: 'write' | 'fsync', error: 'ENOSPC' | 'EIO', { cluster, primary }: Place): Begun {
  cluster.disks[primary].arm({ op, error, count: Infinity });
  return { target: primary, end: () => cluster.disks[primary].disarm() };
}

/** What is lost for each fault that lasts. */
const lost = new Set<readonly Cut[]>();

function cut(target: string, cuts: readonly Cut[]): Begun {
  const apply = () => lose([...lost].flat());
  lost.add(cuts);
  apply();
  return {
    target,
    end() {
      lost.delete(cuts);
      apply();
    },
  };
}

/** Clients reach everything, so that they see what both sides answer. */
function allBut(machine: Machine): Machine[] {
  return SERVERS.filter((other) => other !== machine);
}

function oneWay(from: readonly Machine[], to: readonly Machine[], percent?: number): Cut[] {
  const share = percent === undefined ? {} : { percent };
  return from.flatMap((sender) => to.map((receiver) => ({ from: sender, to: receiver, ...share })));
}

function both(some: readonly Machine[], others: readonly Machine[], percent?: number): Cut[] {
  return [...oneWay(some, others, percent), ...oneWay(others, some, percent)];
}

/** The smaller part has the primary, and some of everything else. */
function halves({ primary, random }: Place): Begun {
  const minority: Machine[] = [primary, one(MEMBERS, random), one(REPLICAS, random)];
  for (const machine of ['haproxy', 'pgbouncer'] as const) if (random() < 0.5) minority.push(machine);
  const rest = SERVERS.filter((machine) => !minority.includes(machine));
  return cut(minority.join(', '), both(minority, rest));
}
