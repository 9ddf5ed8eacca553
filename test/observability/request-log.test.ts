import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify, { type FastifyBaseLogger, type FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { createRequestLog } from '../../src/http/observe/request-log.ts';
import { observability as limits } from '../../src/limits.ts';
import { readTraceparent } from '../../src/tracing/port.ts';
import { makePlace } from '../../testkit/processes/place.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;

test('the id of a trace is read from a valid traceparent only', () => {
  assert.equal(readTraceparent(TRACEPARENT)?.traceId, TRACE);
  assert.equal(readTraceparent(`cc-${TRACE}-b7ad6b7169203331-01-what-a-later-version-adds`)?.traceId, TRACE);
  for (const wrong of [
    undefined,
    '',
    `${TRACEPARENT}-more`,
    TRACEPARENT.toUpperCase(),
    `ff-${TRACE}-b7ad6b7169203331-01`,
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-b7ad6b7169203331`,
    `00-${TRACE}x-b7ad6b7169203331-01`,
  ]) {
    assert.equal(readTraceparent(wrong), undefined, String(wrong));
  }
});

type Line = Partial<Record<'msg' | 'route' | 'status' | 'durationMs' | 'traceId' | 'untold', unknown>>;

/** A log that keeps its lines, and a request like Fastify's. */
async function logging(level: string) {
  const lines: Line[] = [];
  const time = { now: 0 };
  const log: FastifyBaseLogger = pino(
    { level },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const { tells, tell } = createRequestLog(log, () => time.now);
  const app = Fastify();
  let request: FastifyRequest | undefined;
  for (const url of ['/plants', '/events/stream']) {
    app.get(url, async (each) => {
      request = each;
      return '';
    });
  }
  async function end(url: string, durationMs: number): Promise<void> {
    await app.inject({ url: `${url}?secret`, headers: { traceparent: TRACEPARENT } });
    if (request && tells(durationMs)) tell(request, { method: 'GET', route: url, status: 200, durationMs });
  }
  return { lines, time, end };
}

test('at info only slow requests are logged, and streams never are', async () => {
  const { lines, end } = await logging('info');
  await end('/plants', limits.slowRequestMs - 1);
  await end('/events/stream', 100 * limits.slowRequestMs);
  assert.equal(lines.length, 0);
  await end('/plants', limits.slowRequestMs);
  assert.equal(lines.length, 1);
  const [line] = lines;
  assert.deepEqual(
    [line?.msg, line?.route, line?.status, line?.durationMs, line?.traceId],
    ['slow request', '/plants', 200, 1000, TRACE],
  );
});

test('when all requests are slow, only a few are logged, with the number of others', async () => {
  const { lines, time, end } = await logging('info');
  for (let i = 0; i < 5; i++) await end('/plants', limits.slowRequestMs);
  time.now = limits.slowLineMs;
  await end('/plants', limits.slowRequestMs);
  assert.deepEqual(
    lines.map(({ untold }) => untold),
    [undefined, 4],
  );
});

test("at debug each request has a line, with a failure's details, but without its path or query", async (t) => {
  const place = await makePlace(t);
  const server = await place.serve({ env: { LOG_LEVEL: 'debug', LOG_FORMAT: 'json' } });
  const headers = { authorization: 'Bearer a-token-that-nobody-has', traceparent: TRACEPARENT };
  const failed = await fetch(`${server.url}/plants/123456?tag=private`, { method: 'DELETE', headers });
  const id = failed.headers.get('x-request-id');
  assert.deepEqual(Object.keys(JSON.parse(await failed.text())), ['error', 'message']);
  const done = await server.request('GET', '/plants?limit=1');
  assert.equal(done.headers.get('x-request-id'), null);
  const { stdout } = await server.stop();
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'a request ended');
  const [refused, listed] = lines;
  assert.deepEqual(
    [refused.reqId, refused.traceId, refused.method, refused.route, refused.status, refused.user],
    [id, TRACE, 'DELETE', '/plants/:id', 401, undefined],
  );
  assert.deepEqual(
    [listed.route, listed.status, listed.user, typeof listed.durationMs, listed.traceId],
    ['/plants', 200, 'admin', 'number', undefined],
  );
  assert.doesNotMatch(stdout, /123456|private|limit=1|a-token-that/);
});

test('at info a fast request leaves no line', async (t) => {
  const place = await makePlace(t);
  const server = await place.serve({ env: { LOG_FORMAT: 'json' } });
  await server.request('GET', '/plants');
  const { stdout } = await server.stop();
  assert.doesNotMatch(stdout, /"msg":"a request ended"/);
});
