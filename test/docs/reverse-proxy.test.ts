import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, failed, succeeded } from '../../testkit/service/answer.ts';
import { type Service, startService } from '../../testkit/service/service.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';

/** Runs the configurations of the page about proxies, unchanged except for TLS, in the installed proxies. */

const page = readFileSync(new URL('../../docs/how-to/reverse-proxy.md', import.meta.url), 'utf8');
const LIMIT = 3;

type Proxy = {
  /** The language of the block on the page. */
  language: string;
  /** The block, listening on this port of 127.0.0.1 without TLS. */
  plain(block: string, port: number): string;
  /** Completes the block to a file. */
  wrap(block: string, folder: string): string;
  command(file: string): [program: string, ...args: string[]];
};

const proxies: Record<string, Proxy> = {
  nginx: {
    language: 'nginx',
    plain: (block, port) =>
      block.replace('listen 443 ssl', `listen 127.0.0.1:${port}`).replaceAll(/^ *ssl_.*\n/gm, ''),
    wrap: (block, folder) => {
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = paths.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n');
      const inHttp = `access_log off;\n${temporary}\n${block}`;
      return `daemon off; pid ${folder}/pid; error_log ${folder}/log;\nevents {}\nhttp {\n${inHttp}\n}\n`;
    },
    command: (file) => ['nginx', '-c', file, '-e', '/dev/null'],
  },
  caddy: {
    language: 'caddyfile',
    plain: (block, port) => block.replace('plants.example.org', `http://127.0.0.1:${port}`),
    wrap: (block) => `{\n  admin off\n}\n${block}`,
    command: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
  haproxy: {
    language: 'haproxy',
    plain: (block, port) => block.replace(/bind :443 .*/, `bind 127.0.0.1:${port}`),
    wrap: (block) => block,
    command: (file) => ['haproxy', '-q', '-f', file],
  },
};

for (const [name, proxy] of Object.entries(proxies)) {
  const isThere = spawnSync(proxy.command('')[0], ['-v']).error === undefined;
  test(`with ${name} as configured on the page, requests, streams and addresses arrive`, {
    skip: !isThere && `${name} is not installed`,
  }, async (t) => {
    const service = await startService({
      TRUST_PROXY: '127.0.0.1/32',
      AUTH_FAILURE_LIMIT: String(LIMIT),
    });
    t.after(() => service.stop());
    const port = await start(t, proxy, service);

    await plantsArrive(port, service.token);
    await eventsArriveAtOnce(port, service.token);
    await addressesAreToldApart(port);
  });
}

async function plantsArrive(port: number, token: string): Promise<void> {
  const created = await send(port, 'POST', '/plants', { token, body: '{"id": 7, "name": "Alder"}' });
  succeeded(created, 201);
  assert.equal(created.headers.get('location'), '/plants/7');
  assert.deepEqual(succeeded(await send(port, 'GET', '/plants', { token }), 200), [{ name: 'Alder' }]);
  failed(await send(port, 'GET', '//plants', { token }), 40400);
  failed(await send(port, 'POST', '/plants', { token, body: ' '.repeat(65_537) }), 41300);
  succeeded(await send(port, 'GET', '/readyz', {}), 200);
}

async function eventsArriveAtOnce(port: number, token: string): Promise<void> {
  const stream = request({ port, host: '127.0.0.1', path: '/events/stream', headers: bearer(token) }).end();
  const [response] = await once(stream, 'response');
  const parts: string[] = [];
  response.setEncoding('utf8').on('data', (part: string) => parts.push(part));
  while (!parts.join('').includes('retry:')) await once(response, 'data');
  succeeded(await send(port, 'POST', '/plants', { token, body: '{"name": "Birch"}' }), 201);
  while (!parts.join('').includes('Birch')) await once(response, 'data');
  stream.destroy();
}

/** Asserts that a client that forges addresses is limited, and another address is not. */
async function addressesAreToldApart(port: number): Promise<void> {
  const guess = (localAddress: string, forged: string) =>
    send(port, 'GET', '/plants', { token: 'guess', localAddress, headers: { 'X-Forwarded-For': forged } });
  for (let n = 0; n < LIMIT; n++) failed(await guess('127.0.0.2', `203.0.113.${n}`), 40101);
  failed(await guess('127.0.0.2', '203.0.113.99'), 42901);
  failed(await guess('127.0.0.3', '127.0.0.2'), 40101);
}

/** Starts the proxy in front of the service, and returns its port. */
async function start(t: TestContext, proxy: Proxy, service: Service): Promise<number> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-proxy-'));
  // Started by root, nginx writes as another user.
  chmodSync(folder, 0o755);
  const [, block = ''] = new RegExp(`^\`\`\`${proxy.language}\n(.*?)^\`\`\``, 'ms').exec(page) ?? [];
  const plain = proxy.plain(block, port).replaceAll('127.0.0.1:3000', `127.0.0.1:${service.port}`);
  const file = join(folder, 'configuration');
  writeFileSync(file, proxy.wrap(plain, folder));

  const [program, ...args] = proxy.command(file);
  const running = spawn(program, args, { stdio: 'ignore', env: { ...process.env, HOME: folder } });
  const ended = once(running, 'exit');
  t.after(async () => {
    running.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  });
  while (!(await isReady(port))) {
    assert.equal(running.exitCode, null, `${program} did not start with:\n${plain}`);
    await sleep(20);
  }
  return port;
}

/** Whether the proxy lets requests through; HAProxy first runs a health check. */
async function isReady(port: number): Promise<boolean> {
  const answer = await send(port, 'GET', '/readyz', {}).catch(() => undefined);
  return answer?.status === 200;
}

type Sent = {
  token?: string;
  body?: string;
  headers?: Record<string, string>;
  /** The address to send from. */
  localAddress?: string;
};

async function send(port: number, method: string, path: string, sent: Sent): Promise<Answer> {
  const { token, body, localAddress = '127.0.0.1' } = sent;
  const headers = {
    ...(token === undefined ? {} : bearer(token)),
    ...(body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
    ...sent.headers,
  };
  const outgoing = request({ port, host: '127.0.0.1', method, path, headers, localAddress }).end(body);
  const [response] = await once(outgoing, 'response');
  const text = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode, headers: new Headers(response.headers), text };
}

function bearer(token: string): { Authorization: string } {
  return { Authorization: `Bearer ${token}` };
}
