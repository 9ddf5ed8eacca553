import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../testkit/service/eventually.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';

/** A real HAProxy with the configuration for operators (ops/haproxy-postgresql.cfg), in front of three servers. */

const given = readFileSync(new URL('../../ops/haproxy-postgresql.cfg', import.meta.url), 'utf8');
const [POSTGRESQL, PATRONI] = [5432, 8008];

/** What Patroni answers to `OPTIONS /primary`; a stopped one accepts the connection and answers nothing. */
const SERVERS = {
  primary: { host: '127.0.0.21', patroni: 'HTTP/1.0 200 OK\r\n\r\n' },
  'former primary': { host: '127.0.0.22', patroni: undefined },
  standby: { host: '127.0.0.23', patroni: 'HTTP/1.0 503 Service Unavailable\r\n\r\n' },
};

test('from its start on, HAProxy connects to the primary only, not to one whose Patroni stands still', {
  skip: spawnSync('haproxy', ['-v']).error && 'haproxy is not installed',
}, async (t) => {
  for (const [name, { host, patroni }] of Object.entries(SERVERS)) {
    await listening(t, host, POSTGRESQL, (socket) => socket.end(name));
    await listening(t, host, PATRONI, (socket) => socket.once('data', () => patroni && socket.end(patroni)));
  }
  const port = await startHaproxy(t);
  const reached = new Set<string>();
  for (let n = 0; n < 20; n++) reached.add(await eventually('server', () => serverBehind(port)));
  assert.deepEqual([...reached], ['primary']);
});

async function listening(
  t: TestContext,
  host: string,
  port: number,
  greet: (socket: Socket) => void,
): Promise<void> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    greet(socket);
  });
  server.listen(port, host);
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
}

async function startHaproxy(t: TestContext): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-haproxy-'));
  const [port, file] = [await freePort(), join(folder, 'haproxy.cfg')];
  writeFileSync(file, given.replace(/:5432$/m, `:${port}`).replaceAll('10.0.0.2', '127.0.0.2'));
  const running = spawn('haproxy', ['-db', '-q', '-f', file], { stdio: 'ignore' });
  t.after(async () => {
    const ended = once(running, 'exit');
    running.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true });
  });
  return port;
}

/** The name that the server sends; undefined when the connection is refused. */
function serverBehind(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    connect(port, '127.0.0.1')
      .on('data', (data) => (text += data))
      .on('error', () => {})
      .on('close', () => resolve(text || undefined));
  });
}
