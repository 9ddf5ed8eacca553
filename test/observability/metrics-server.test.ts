import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { answerUnreadable } from '../../src/http/observe/socket-failures.ts';
import { observability as limits } from '../../src/limits.ts';
import { serveMetrics } from '../../src/observability/metrics-server.ts';
import { silentLog } from '../../src/runtime.ts';
import { makePlace } from '../../testkit/processes/place.ts';
import { failToServe } from '../../testkit/processes/server.ts';
import { failed } from '../../testkit/service/answer.ts';
import { openRaw } from '../../testkit/sockets/raw-client.ts';
import { head } from '../../testkit/sockets/raw-request.ts';

/** Metrics that are produced when the test says so. */
async function serving(t: TestContext, metrics = async () => 'a 1\n') {
  const calls = { count: 0 };
  const logged: unknown[] = [];
  const server = await serveMetrics(
    { port: 0, host: '127.0.0.1', answerUnreadable },
    {
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      metrics: () => {
        calls.count++;
        return metrics();
      },
    },
    { ...silentLog, error: (context) => void logged.push(context) },
  );
  t.after(server.stop);
  return { ...server, calls, logged, port: Number(new URL(server.url).port) };
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

test('it has /metrics, for GET and HEAD, and the Error object for anything else', async (t) => {
  const { url } = await serving(t);
  const got = await fetch(url);
  assert.equal(await got.text(), 'a 1\n');
  assert.match(got.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const short = await fetch(url, { method: 'HEAD' });
  assert.deepEqual([short.status, await short.text(), short.headers.get('content-length')], [200, '', '4']);
  const other = await fetch(new URL('/plants', url));
  assert.equal(other.status, 404);
  assert.deepEqual(await other.json(), {
    error: 40400,
    message: 'There is no such path; this port serves only /metrics.',
  });
  const posted = await fetch(url, { method: 'POST', body: 'x' });
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
  assert.match(await posted.text(), /^\{"error":40500,/);
});

test('what cannot be read as a request gets the Error object, too', async (t) => {
  const { port } = await serving(t);
  for (const [request, code] of [
    [head('GET /metrics HTTP/1.1'), 40000],
    ['\x16\x03\x01\x02\0\x01\0\x01', 40000],
    [head('GET /metrics HTTP/1.1', 'Host: x', 'Expect: more'), 41700],
    [head('GET /metrics HTTP/1.1', 'Host: x', `X: ${'x'.repeat(40_000)}`), 43100],
    [head('GET /metrics HTTP/3.0', 'Host: x'), 50500],
    // Its other half never comes.
    ['GET /metrics HTTP/1.1\r\nHost', 40800],
  ] as const) {
    const connection = await openRaw(port);
    await connection.send(request);
    const answer = await connection.answer();
    failed(answer, code);
    assert.equal(answer.headers.get('connection'), 'close');
    assert.equal(await connection.ended(), 'closed');
    connection.close();
  }
  const old = await openRaw(port);
  await old.send(head('GET /metrics HTTP/1.0'));
  assert.equal((await old.answer()).status, 200);
  old.close();
});

test('concurrent or frequent clients get the same text', async (t) => {
  const { url, calls } = await serving(t);
  // However long they take, they come within the same second.
  t.mock.method(performance, 'now', () => 0);
  await Promise.all(Array.from({ length: 10 }, () => fetch(url).then((each) => each.text())));
  assert.equal(calls.count, 1);
});

test('unreadable metrics are a failure, which is logged, and the next scrape retries', async (t) => {
  let fails = true;
  const err = new Error('no');
  const { url, logged } = await serving(t, async () => {
    if (fails) throw err;
    return 'a 1\n';
  });
  const unread = await fetch(url);
  assert.equal(unread.status, 500);
  assert.match(await unread.text(), /^\{"error":50000,"message":"The metrics cannot be read\."\}$/);
  assert.deepEqual(logged, [{ err }]);
  fails = false;
  t.mock.method(performance, 'now', () => Number.MAX_SAFE_INTEGER);
  assert.equal((await fetch(url)).status, 200);
});

test('connections over the limit are closed, and so are silent ones', async (t) => {
  const { port, url } = await serving(t);
  const sockets = await Promise.all(Array.from({ length: limits.connections }, () => open(port)));
  const ends = sockets.map((socket) => once(socket, 'close'));
  const further = await open(port);
  further.resume();
  await once(further, 'close');
  for (const socket of sockets) socket.resume();
  await Promise.all(ends);
  assert.equal((await fetch(url)).status, 200);
});

test('it stops at once, whatever is open, and may be stopped twice', async (t) => {
  const { port, stop, url } = await serving(t, () => new Promise(() => {}));
  const socket = await open(port);
  socket.resume();
  const cut = assert.rejects(fetch(url));
  await Promise.all([stop(), stop(), once(socket, 'close'), cut]);
  await assert.rejects(fetch(url));
});

test('a METRICS_HOST that the machine does not have is named, also with a free port', async (t) => {
  const { dataDir } = await makePlace(t);
  // For documentation (RFC 5737).
  const env = { METRICS_PORT: '0', METRICS_HOST: '203.0.113.1' };
  const { code, stderr } = await failToServe(dataDir, { env });
  assert.equal(code, 1);
  assert.equal(
    stderr,
    'error: This machine has no address 203.0.113.1 to listen on. Choose another with --metrics-host.\n',
  );
});

test('a METRICS_PORT in use ends the start with 1 and one line, and no token is shown', async (t) => {
  const place = await makePlace(t);
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const address = other.address();
  assert.ok(typeof address === 'object' && address !== null);
  const env = { METRICS_PORT: String(address.port), BOOTSTRAP_TOKEN: '' };
  const { code, stderr } = await failToServe(place.dataDir, { env });
  assert.equal(code, 1);
  assert.match(
    stderr,
    new RegExp(
      `^error: Port ${address.port} of 127\\.0\\.0\\.1 is in use\\. Choose another with --metrics-port;.*\\n$`,
    ),
  );
  const { stdout } = await place.command('token', 'list', '--json');
  assert.deepEqual(JSON.parse(stdout), []);
});
