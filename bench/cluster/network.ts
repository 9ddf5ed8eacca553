import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

/** The machines of the cluster: network namespaces, each with one address on a common switch. */
export const addresses = {
  ...{ pg1: '10.213.0.11', pg2: '10.213.0.12', pg3: '10.213.0.13' },
  ...{ etcd1: '10.213.0.21', etcd2: '10.213.0.22', etcd3: '10.213.0.23' },
  ...{ app1: '10.213.0.31', app2: '10.213.0.32', app3: '10.213.0.33' },
  ...{ haproxy: '10.213.0.41', pgbouncer: '10.213.0.42', clients: '10.213.0.51' },
} as const;

export type Machine = keyof typeof addresses;
// The members of a record are its names.
export const machines = Object.keys(addresses) as Machine[];

/** Packets from one machine to another that get lost: all of them, or a percentage below 100. */
export type Cut = { from: Machine; to: Machine; percent?: number };

const PREFIX = 'plant-store-';
const SWITCH = `${PREFIX}switch`;
const FOLDER = '/run/netns';

/** The command line that runs a command on a machine, in the same process. */
export function on(machine: Machine, command: readonly string[]): string[] {
  return ['nsenter', `--net=${FOLDER}/${PREFIX}${machine}`, ...command];
}

/** Creates the machines, after removing those of an earlier run that did not remove its own. */
export function createNetwork(): void {
  removeNetwork();
  const lines = machines.flatMap((machine) => {
    const space = PREFIX + machine;
    return [
      `ip netns add ${space}`,
      `ip link add eth0 netns ${space} type veth peer name ${machine} netns ${SWITCH}`,
      `ip -n ${SWITCH} link set dev ${machine} master switch up`,
      `ip -n ${space} address add ${addresses[machine]}/24 dev eth0`,
      `ip -n ${space} link set eth0 up`,
      `ip -n ${space} link set lo up`,
      `ip netns exec ${space} nft 'add table inet faults; add chain inet faults input { type filter hook input priority 0; }'`,
    ];
  });
  const bridge = [`ip netns add ${SWITCH}`, `ip -n ${SWITCH} link add switch up type bridge`];
  execFileSync('sh', ['-e'], { input: [...bridge, ...lines].join('\n') });
}

/** Kills everything that runs on the machines, and removes them. */
export function removeNetwork(): void {
  for (const machine of machines) killAll(machine);
  for (const space of [...machines.map((machine) => PREFIX + machine), SWITCH])
    if (existsSync(`${FOLDER}/${space}`)) spawnSync('ip', ['netns', 'delete', space]);
}

/** Kills everything on a machine, and what it starts meanwhile, but not this process. */
export function killAll(machine: Machine): void {
  while (signal(machine, 'SIGKILL') > 0);
}

/** Signals the processes on a machine whose command line matches; returns how many there were. */
export function signal(machine: Machine, name: NodeJS.Signals, pattern = /./): number {
  const pids = pidsOn(machine).filter((pid) => pid !== process.pid && pattern.test(commandOf(pid)));
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has already ended.
    }
  }
  return pids.length;
}

function pidsOn(machine: Machine): number[] {
  const space = `${FOLDER}/${PREFIX}${machine}`;
  if (!existsSync(space)) return [];
  const wanted = `net:[${statSync(space).ino}]`;
  const isThere = (pid: string) => readOr('', () => readlinkSync(`/proc/${pid}/ns/net`)) === wanted;
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && isThere(pid))
    .map(Number);
}

/** Empty for a process that has ended. */
function commandOf(pid: number): string {
  return readOr('', () => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '));
}

function readOr<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

const rules = new Map<Machine, string>();

/** Loses these packets, and no others, from now on. */
export function lose(cuts: readonly Cut[]): void {
  for (const machine of machines) {
    const wanted = cuts.filter(({ to }) => to === machine).map(ruleOf);
    const text = ['flush chain inet faults input', ...wanted].join('\n');
    if ((rules.get(machine) ?? 'flush chain inet faults input') === text) continue;
    const [file = '', ...args] = on(machine, ['nft', '-f', '-']);
    execFileSync(file, args, { input: text });
    rules.set(machine, text);
  }
}

/** At the receiver, so that the sender does not notice. */
function ruleOf({ from, percent }: Cut): string {
  const share = percent === undefined ? '' : `numgen random mod 100 < ${percent} `;
  return `add rule inet faults input ip saddr ${addresses[from]} ${share}drop`;
}
