import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import Fastify from 'fastify';
import { noteRequest } from '../../src/http/admission/connection.ts';
import { traceRequests } from '../../src/http/observe/request-spans.ts';
import { watchRequests } from '../../src/http/observe/request-watch.ts';
import type { Measures } from '../../src/observability/port.ts';
import type { Span, SpanResult } from '../../src/tracing/port.ts';

const REQUESTS = 200;

/** A server with metrics and traces that answers only when told to. */
async function watched(t: TestContext) {
  const statuses: (number | undefined)[] = [];
  const spans: (SpanResult | undefined)[] = [];
  const listeners: number[] = [];
  const [arrived, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const answer = Promise.withResolvers<string>();
  const measures = {
    requestBegan() {},
    requestEnded({ status }) {
      if (statuses.push(status) === REQUESTS) over.resolve();
    },
  } satisfies Partial<Measures>;
  const span: Span = {
    trace: '',
    begin: () => span,
    mark() {},
    note() {},
    end: (result) => void spans.push(result),
  };
  const app = Fastify();
  app.server.prependListener('request', noteRequest);
  app.decorateRequest('principal');
  app.decorateRequest('span', undefined);
  // The code under test calls nothing else of the measures.
  watchRequests(app, { log: undefined, measures: measures as unknown as Measures }, () => 0);
  traceRequests(app, { begin: () => span });
  app.get('/', ({ socket }) => {
    if (listeners.push(socket.listenerCount('close')) === REQUESTS) arrived.resolve();
    return answer.promise;
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => app.close());
  // A server that listens on TCP has this kind of address.
  const { port } = app.server.address() as AddressInfo;
  const client: Socket = connect(port, '127.0.0.1', () =>
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(REQUESTS)),
  );
  client.resume().on('error', () => {});
  await arrived.promise;
  return { client, statuses, spans, listeners, over: over.promise, answer: () => answer.resolve('') };
}

test('pipelined requests add no listeners to their connection, however many there are', async (t) => {
  const { client, statuses, spans, listeners, over, answer } = await watched(t);
  assert.deepEqual(new Set(listeners.slice(1)), new Set([listeners[1]]));
  answer();
  await over;
  client.end();
  await once(client, 'close');
  assert.deepEqual(statuses, Array(REQUESTS).fill(200));
  assert.deepEqual(
    spans.map((result) => result?.attributes?.['http.response.status_code']),
    statuses,
  );
});

test('an answer whose turn never came ends with its connection, once, and has no status', async (t) => {
  const { client, statuses, spans, over, answer } = await watched(t);
  client.resetAndDestroy();
  await over;
  answer();
  await new Promise(setImmediate);
  assert.deepEqual(statuses, Array(REQUESTS).fill(undefined));
  assert.equal(spans.length, REQUESTS);
  assert.ok(spans.every((result) => result?.attributes?.['http.response.status_code'] === undefined));
});
