import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { ask } from '../../load/client.ts';
import { atEnd, temporaryFolder } from '../../servers/cleanup.ts';
import { isInstalled } from '../../servers/tools.ts';

/** HAProxy with the configuration of `ops/haproxy.cfg`, without TLS, in front of replicas on this machine. */
export type Haproxy = {
  /** Without a trailing slash. */
  url: string;
  /** Stops or resumes sending new requests to a replica. */
  set(replica: number, state: 'drain' | 'ready'): Promise<void>;
  /** How many requests a replica has in progress. */
  current(replica: number): Promise<number>;
  /** How often it retried, at the same or another replica. */
  retries(): Promise<number>;
  stop(): Promise<void>;
};

const CONFIGURATION = new URL('../../../ops/haproxy.cfg', import.meta.url);
const NAMES = ['a', 'b', 'c'];
const LOOK_MS = 20;

export const hasHaproxy = (): boolean => isInstalled('haproxy');

/** @param ports of three replicas */
export async function startHaproxy(ports: readonly number[]): Promise<Haproxy> {
  const folder = temporaryFolder().path;
  const [port, socket, file] = [await freePort(), join(folder, 'socket'), join(folder, 'haproxy.cfg')];
  const configuration = NAMES.reduce(
    (all, name, n) => all.replace(new RegExp(`server ${name} .*`), `server ${name} 127.0.0.1:${ports[n]}`),
    readFileSync(CONFIGURATION, 'utf8'),
  )
    .replace(/bind .*/, `bind 127.0.0.1:${port}`)
    .replace(/stats socket \S+/, `stats socket ${socket}`);
  writeFileSync(file, configuration);
  const checked = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' });
  if (checked.status !== 0) throw new Error(`haproxy -c: ${checked.stderr}`);

  const child = spawn('haproxy', ['-q', '-db', '-f', file], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  void ended.then(atEnd(() => child.kill('SIGKILL')));
  const url = `http://127.0.0.1:${port}`;
  while (!(await isReady(url))) {
    if (child.exitCode !== null) throw new Error(`HAProxy did not start with ${file}`);
    await sleep(LOOK_MS);
  }
  const tell = (command: string) => tellSocket(socket, command);
  const sumOf = async (column: string, of: (row: Record<string, string>) => boolean) =>
    (await statistics(tell)).filter(of).reduce((sum, row) => sum + Number(row[column]), 0);
  const isOf = (name: string | undefined) => (row: Record<string, string>) =>
    row.pxname === 'plant_store' && row.svname === name;
  return {
    url,
    set: async (n, state) => void (await tell(`set server plant_store/${NAMES[n]} state ${state}`)),
    current: (n) => sumOf('scur', isOf(NAMES[n])),
    retries: () => sumOf('wretr', isOf('BACKEND')),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function isReady(url: string): Promise<boolean> {
  const answer = await ask(`${url}/readyz`).catch(() => undefined);
  return answer?.status === 200;
}

async function statistics(tell: (command: string) => Promise<string>): Promise<Record<string, string>[]> {
  const [head = '', ...lines] = (await tell('show stat')).trim().split('\n');
  const columns = head.replace('# ', '').split(',');
  return lines.map((line) =>
    Object.fromEntries(line.split(',').map((value, i) => [columns[i] ?? '', value])),
  );
}

/** Sends one command over HAProxy's socket, and returns its output. */
async function tellSocket(path: string, command: string): Promise<string> {
  const socket = connect(path);
  await once(socket, 'connect');
  socket.end(`${command}\n`);
  return text(socket);
}
