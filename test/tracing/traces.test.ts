import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { failed, succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';
import { clientTrace, DELIVERY, has, spanOf, startCollector } from './collector.ts';

const collector = await startCollector();
const receiver = await startReceiver();
const service = await startService({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
  OTEL_EXPORTER_OTLP_HEADERS: 'api-key=the-key%20of-the-collector,x-team=plants',
  OTEL_SERVICE_NAME: 'greenhouse',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=overridden',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_RETRY_SCHEDULE: '0s,0s',
});
after(async () => {
  await service.stop();
  await Promise.all([collector.stop(), receiver.stop()]);
});

const hook = `${receiver.url}/a-path-that-is-a-secret`;

async function subscribe(user: string): Promise<{ token: string; secret: string }> {
  const token = await service.tokenFor(user);
  const answer = await service.request('POST', '/webhooks', { body: { url: hook }, token });
  // Other tests check the shape.
  const { secret } = succeeded(answer, 201) as { secret: string };
  return { token, secret };
}

/** Creates a plant with these header fields; resolves with the receiver's request. */
async function createAndReceive(token: string, headers: Record<string, string>) {
  const before = receiver.received.length;
  succeeded(await service.request('POST', '/plants', { body: { name: 'Alder' }, token, headers }), 201);
  const received = (await receiver.receive(before + 1))[before];
  assert.ok(received);
  return received.headers;
}

test('one trace leads from the client over the request and its commit to the receiver', async () => {
  const { token } = await subscribe('tracer');
  const { trace, span, traceparent } = clientTrace();
  const headers = await createAndReceive(token, { traceparent, tracestate: 'vendor=a, other=b' });
  const spans = await collector.collect(
    (all) => all.filter((one) => one.trace === trace).length === 3 && has(DELIVERY)(all),
  );

  const request = spanOf(spans, 'POST /plants', trace);
  assert.deepEqual([request.parent, request.kind, request.failed], [span, 2, false]);
  const {
    'plant_store.request.id': requestId,
    'plant_store.user.id': user,
    ...attributes
  } = request.attributes;
  assert.deepEqual(attributes, {
    'http.request.method': 'POST',
    'http.route': '/plants',
    'url.scheme': 'http',
    'http.response.status_code': 201,
  });
  assert.match(String(requestId), /-\d+$/);
  assert.equal(typeof user, 'number');

  const commit = spanOf(spans, 'commit', trace);
  assert.deepEqual([commit.parent, commit.kind], [request.id, 1]);
  assert.deepEqual(commit.attributes, { 'plant_store.batch.size': 1 });
  assert.deepEqual(commit.events, ['the transaction begins']);

  const delivery = spanOf(spans, DELIVERY, trace);
  assert.deepEqual([delivery.parent, delivery.kind, delivery.failed], [request.id, 3, false]);
  assert.equal(delivery.attributes['http.response.status_code'], 204);
  assert.equal(delivery.attributes['server.address'], '127.0.0.1');
  assert.equal(delivery.attributes['server.port'], receiver.port);
  assert.equal(delivery.attributes['plant_store.event.id'], headers['webhook-id']);
  assert.equal(delivery.resource['service.instance.id'], request.resource['service.instance.id']);
  assert.equal(headers.traceparent, `00-${trace}-${delivery.id}-01`);
  assert.equal(headers.tracestate, 'vendor=a,other=b');

  // A span starts at a whole millisecond and ends after its exact duration.
  assert.ok(request.startMs <= commit.startMs && commit.endMs <= request.endMs + 1);
});

test("the collector gets the service's attributes and the configured header fields", async () => {
  const { token } = await subscribe('resource');
  await createAndReceive(token, {});
  const [span] = await collector.collect(has('POST /plants'));
  assert.ok(span);
  assert.equal(span.resource['service.name'], 'greenhouse');
  assert.equal(span.resource['deployment.environment.name'], 'test');
  assert.match(String(span.resource['service.version']), /^\d+\.\d+\.\d+/);
  assert.match(String(span.resource['service.instance.id']), /^[\da-f]{32}$/);
  const { 'api-key': key, 'x-team': team, 'content-type': type } = collector.headers();
  assert.deepEqual([key, team, type], ['the-key of-the-collector', 'plants', 'application/json']);
});

test('a request without a valid trace starts one', async () => {
  const { token } = await subscribe('beginner');
  const zeros = `00-${'0'.repeat(32)}-${'d'.repeat(16)}-01`;
  for (const headers of [{}, { traceparent: 'mine' }, { traceparent: zeros, tracestate: 'a=1' }]) {
    const received = await createAndReceive(token, headers);
    assert.match(String(received.traceparent), /^00-[\da-f]{32}-[\da-f]{16}-01$/);
    assert.equal(received.tracestate, undefined);
    const trace = String(received.traceparent).slice(3, 35);
    const spans = await collector.collect((all) => all.filter((one) => one.trace === trace).length === 3);
    assert.equal(spanOf(spans, 'POST /plants', trace).parent, undefined);
  }
});

test('a trace the client does not sample is not kept, and the receiver learns that', async () => {
  const { token } = await subscribe('unsampled');
  const { trace, traceparent } = clientTrace('00');
  const received = await createAndReceive(token, { traceparent });
  assert.match(String(received.traceparent), new RegExp(`^00-${trace}-[\\da-f]{16}-00$`));
  // A later request's spans have arrived, so this one's would have, too.
  const later = clientTrace();
  await createAndReceive(token, { traceparent: later.traceparent });
  const spans = await collector.collect((all) => all.filter((one) => one.trace === later.trace).length === 3);
  assert.deepEqual(
    spans.filter((span) => span.trace === trace),
    [],
  );
});

test('each attempt of a delivery is a span of the same trace, and a failed one says why', async () => {
  const { token } = await subscribe('again');
  const { trace, traceparent } = clientTrace();
  receiver.script({ status: 500 });
  const before = receiver.received.length;
  await createAndReceive(token, { traceparent });
  await receiver.receive(before + 2);
  const spans = await collector.collect((all) => all.filter((one) => one.trace === trace).length === 4);
  const [first, second] = spans
    .filter((span) => span.trace === trace && span.name === DELIVERY)
    .sort((one, other) => one.startMs - other.startMs);
  assert.ok(first && second);
  assert.deepEqual([first.failed, first.reason], [true, 'The receiver answered 500.']);
  assert.equal(first.attributes['error.type'], '500');
  assert.deepEqual([second.failed, second.attributes['http.request.resend_count']], [false, 1]);
  assert.equal(first.parent, second.parent);
  assert.notEqual(
    receiver.received[before]?.headers.traceparent,
    receiver.received[before + 1]?.headers.traceparent,
  );
});

test('requests committed together each have a span with their number', async () => {
  const token = await service.tokenFor('crowd');
  const clients = Array.from({ length: 20 }, () => clientTrace());
  await Promise.all(
    clients.map(({ traceparent }) =>
      service.request('POST', '/plants', { body: { name: 'Alder' }, token, headers: { traceparent } }),
    ),
  );
  const ids = new Set(clients.map(({ trace }) => trace));
  const spans = await collector.collect(
    (all) => all.filter(({ trace, name }) => ids.has(trace) && name === 'commit').length === 20,
  );
  const sizes = spans
    .filter(({ trace, name }) => ids.has(trace) && name === 'commit')
    .map(({ attributes }) => Number(attributes['plant_store.batch.size']));
  const largest = Math.max(...sizes);
  assert.ok(largest > 1, `${sizes}`);
  // A batch may contain others' commands, and two batches may have the same size.
  const together = sizes.filter((size) => size === largest).length;
  assert.ok(together > 1, `${sizes}`);
});

test('the span of a request has its route, never its path, its query or what its body says', async () => {
  const { token, secret } = await subscribe('discreet');
  const ask = (method: string, path: string, body?: unknown) =>
    service.request(method, path, { token, body, headers: { traceparent: clientTrace().traceparent } });
  await ask('POST', '/plants', { name: 'Name-in-the-body', tag: 'Tag-in-the-body' });
  failed(await ask('DELETE', '/plants/7700770077'), 40401);
  failed(await ask('GET', '/plants?limit=1&cursor=cursor-in-the-query'), 40007);
  failed(await ask('GET', `/path-in-the-url/${token}`), 40400);
  const spans = await collector.collect(
    (all) => has('GET /plants')(all) && has('GET')(all) && has(DELIVERY)(all),
  );
  assert.ok(spans.some(({ name }) => name === 'DELETE /plants/:id'));
  const text = collector.text();
  for (const hidden of [
    token,
    secret,
    'the-body',
    '7700770077',
    'the-query',
    'path-in-the-url',
    'is-a-secret',
  ]) {
    assert.ok(!text.includes(hidden), `${hidden} is in a span`);
  }
});

test('health checks have no spans, and a refused request is not a fault', async () => {
  await service.request('GET', '/healthz');
  await service.request('GET', '/readyz');
  const { trace, traceparent } = clientTrace();
  failed(await service.request('GET', '/plants', { token: null, headers: { traceparent } }), 40100);
  const spans = await collector.collect((all) => all.some((span) => span.trace === trace));
  const refused = spanOf(spans, 'GET /plants', trace);
  assert.deepEqual([refused.failed, refused.attributes['http.response.status_code']], [false, 401]);
  assert.equal(refused.attributes['plant_store.error'], 40100);
  assert.ok(!spans.some(({ name }) => /healthz|readyz/.test(name)));
});
