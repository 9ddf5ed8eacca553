import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makePlace } from '../../testkit/processes/place.ts';
import { TOKEN } from '../../testkit/processes/server.ts';
import { type Receiver, startReceiver } from '../../testkit/receivers/receiver.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';
import { makeStoreDatabase } from '../../testkit/stores/postgres.ts';
import { clientTrace, DELIVERY, spanOf, startCollector } from './collector.ts';

/** A trace continues in another process; and without traces the service loads and stores nothing of them. */

async function startBoth(t: TestContext) {
  const [collector, receiver] = [await startCollector(), await startReceiver()];
  t.after(() => Promise.all([collector.stop(), receiver.stop()]));
  return { collector, receiver };
}

async function createPlant(url: string, token: string, traceparent: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', traceparent };
  const response = await fetch(`${url}/plants`, { method: 'POST', headers, body: '{"name":"Alder"}' });
  assert.equal(response.status, 201, await response.text());
}

const traceIdOf = ({ received }: Receiver, n: number) =>
  String(received[n]?.headers.traceparent).slice(3, 35);

test("a delivery after a restart continues the trace of the plant's creation", async (t) => {
  const { collector, receiver } = await startBoth(t);
  const place = await makePlace(t);
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_RETRY_SCHEDULE: '0s,0s',
    BOOTSTRAP_TOKEN: TOKEN,
  };
  receiver.usually('hang');
  const first = await place.serve({ env });
  succeeded(await first.request('POST', '/webhooks', { body: { url: receiver.url } }), 201);
  const { trace, traceparent } = clientTrace();
  await createPlant(first.url, env.BOOTSTRAP_TOKEN, traceparent);
  await receiver.receive(1);
  await collector.collect((all) => all.filter((span) => span.trace === trace).length === 2);
  await first.kill();

  receiver.usually({ status: 204 });
  const second = await place.serve({ env });
  await receiver.receive(2);
  assert.deepEqual([traceIdOf(receiver, 0), traceIdOf(receiver, 1)], [trace, trace]);
  assert.equal((await second.stop()).code, 0);
  const request = spanOf(collector.spans(), 'POST /plants', trace);
  const delivery = spanOf(collector.spans(), DELIVERY, trace);
  assert.equal(delivery.parent, request.id);
  assert.notEqual(delivery.resource['service.instance.id'], request.resource['service.instance.id']);
});

test('a stored trace is not sent by a service without traces', async (t) => {
  const { collector, receiver } = await startBoth(t);
  const place = await makePlace(t);
  const env = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_RETRY_SCHEDULE: '0s,0s' };
  receiver.usually('hang');
  const first = await place.serve({ env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint } });
  succeeded(await first.request('POST', '/webhooks', { body: { url: receiver.url } }), 201);
  const { trace, traceparent } = clientTrace();
  await createPlant(first.url, TOKEN, traceparent);
  await receiver.receive(1);
  await first.kill();
  receiver.usually({ status: 204 });
  const second = await place.serve({ env });
  const received = await receiver.receive(2);
  assert.equal((await second.stop()).code, 0);
  assert.deepEqual([traceIdOf(receiver, 0), received[1]?.headers.traceparent], [trace, undefined]);
});

test("a delivery by another replica continues the trace of the plant's creation", async (t) => {
  const { collector, receiver } = await startBoth(t);
  const database = await makeStoreDatabase();
  const replica = (ROLES: string) =>
    startService({
      ROLES,
      DATABASE_URL: database.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_SERVICE_NAME: ROLES,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    });
  const [answering, sending] = [await replica('api'), await replica('dispatch')];
  t.after(async () => {
    await Promise.all([answering.stop(), sending.stop()]);
    await database.drop();
  });
  succeeded(await answering.request('POST', '/webhooks', { body: { url: receiver.url } }), 201);
  const { trace, traceparent } = clientTrace();
  await createPlant(answering.url, answering.token, traceparent);
  await receiver.receive(1);
  const spans = await collector.collect((all) => all.filter((span) => span.trace === trace).length === 3);
  const [request, delivery] = [spanOf(spans, 'POST /plants', trace), spanOf(spans, DELIVERY, trace)];
  assert.equal(delivery.parent, request.id);
  assert.deepEqual(
    [request, delivery].map(({ resource }) => resource['service.name']),
    ['api', 'dispatch'],
  );
});

test('without a collector no trace is kept or sent, and nothing of OpenTelemetry is loaded', async (t) => {
  const { collector, receiver } = await startBoth(t);
  for (const endpoint of ['', collector.endpoint]) {
    const place = await makePlace(t);
    // Node's list of loaded modules.
    const loaded = join(place.folder, 'loaded');
    const server = await place.serve({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
        OTEL_SERVICE_NAME: 'unused',
        WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        NODE_V8_COVERAGE: loaded,
      },
    });
    succeeded(await server.request('POST', '/webhooks', { body: { url: receiver.url } }), 201);
    const before = receiver.received.length;
    await createPlant(server.url, TOKEN, clientTrace().traceparent);
    await receiver.receive(before + 1);
    assert.equal((await server.stop()).code, 0);

    const isTraced = endpoint !== '';
    assert.equal(receiver.received[before]?.headers.traceparent !== undefined, isTraced);
    assert.equal(place.read('SELECT trace FROM events')[0]?.trace !== null, isTraced);
    const files = readdirSync(loaded).map((file) => readFileSync(join(loaded, file), 'utf8'));
    assert.ok(files.some((text) => text.includes('/fastify/')));
    assert.equal(
      files.some((text) => text.includes('/@opentelemetry/')),
      isTraced,
    );
  }
});
