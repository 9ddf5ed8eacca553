import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { tracing as limits } from '../../src/limits.ts';
import { type Log, silentLog } from '../../src/runtime.ts';
import { openTracing } from '../../src/tracing/open.ts';
import { type Receiver, startReceiver } from '../../testkit/receivers/receiver.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { startWatch } from '../../testkit/service/running-time.ts';
import { startService } from '../../testkit/service/service.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';
import { clientTrace, startCollector } from './collector.ts';

type Warning = { spans: number; reason: string; collector: string };

/** Traces for a collector, and the log's lines about it. */
function openTo(endpoint: string) {
  const warnings: Warning[] = [];
  const warned = Promise.withResolvers<void>();
  const log: Log = {
    ...silentLog,
    warn(context) {
      // Nothing else is logged here.
      warnings.push(context as Warning);
      warned.resolve();
    },
  };
  const service = { name: 'plant-store', version: '1.0.0', attributes: {} };
  const tracing = openTracing({ endpoint, headers: {}, sampler: 'always_on', ratio: 1, service }, { log });
  const makeSpans = (count: number) => {
    for (let n = 0; n < count; n++) tracing.tracer.begin('server', 'GET /plants', undefined, {}).end();
  };
  return { ...tracing, makeSpans, warnings, warned: warned.promise };
}

async function silentCollector(t: TestContext): Promise<Receiver> {
  const receiver = await startReceiver();
  receiver.usually('hang');
  t.after(() => receiver.stop());
  return receiver;
}

for (const { name, endpoint } of [
  { name: 'down', endpoint: async () => `http://127.0.0.1:${await freePort()}` },
  {
    name: 'silent',
    endpoint: async (t: TestContext) => `http://127.0.0.1:${(await silentCollector(t)).port}`,
  },
]) {
  test(`a collector that is ${name} changes nothing for clients and receivers, nor for a stop`, async (t) => {
    const receiver = await startReceiver();
    t.after(() => receiver.stop());
    const service = await startService({
      OTEL_EXPORTER_OTLP_ENDPOINT: await endpoint(t),
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    });
    succeeded(await service.request('POST', '/webhooks', { body: { url: receiver.url } }), 201);
    for (let n = 0; n < 20; n++) {
      succeeded(await service.request('POST', '/plants', { body: { name: 'Alder' } }), 201);
    }
    assert.equal((await receiver.receive(20)).length, 20);
    using watch = startWatch();
    await service.stop();
    const ms = watch.ms();
    assert.ok(ms < limits.flushMs + 1_000, `stopping took ${ms} ms`);
  });
}

test("spans beyond the queue's limit are dropped, and the log occasionally says how many", async (t) => {
  const collector = await silentCollector(t);
  const { makeSpans, stop, warnings, warned } = openTo(
    `http://user:password@127.0.0.1:${collector.port}/otlp`,
  );
  makeSpans(limits.spansTogether);
  // These are being sent; no others are accepted meanwhile.
  await collector.receive(1);
  makeSpans(limits.queuedSpans + 10);
  await warned;
  makeSpans(10);
  assert.deepEqual(warnings, [
    { collector: `http://127.0.0.1:${collector.port}`, spans: 1, reason: 'the queue is full' },
  ]);
  await stop();
});

test('a collector that answers byte by byte holds a request for a few seconds only', async (t) => {
  const collector = await startCollector();
  t.after(() => collector.stop());
  const dripping = Promise.withResolvers<ServerResponse>();
  collector.usually((_, response) => {
    response.writeHead(200).write('{');
    dripping.resolve(response);
  });
  const { makeSpans, stop } = openTo(collector.endpoint);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  makeSpans(limits.spansTogether);
  const response = await dripping.promise;
  const ended = once(response, 'close');
  t.mock.timers.tick(limits.exportMs + limits.exportGraceMs);
  await ended;
  t.mock.timers.reset();
  await stop();
});

test('spans that a collector refuses are lost, with its status but not its answer in the log', async (t) => {
  const collector = await startCollector();
  t.after(() => collector.stop());
  collector.usually({ status: 401, body: 'the key quoted' });
  const { makeSpans, stop, warnings, warned } = openTo(collector.endpoint);
  makeSpans(3);
  await warned;
  assert.deepEqual(warnings, [{ collector: collector.endpoint, spans: 3, reason: 'it answered 401' }]);
  await stop();
});

test('spans that have ended are exported when the service stops', async (t) => {
  const collector = await startCollector();
  t.after(() => collector.stop());
  const { tracer, stop } = openTo(collector.endpoint);
  const { trace, traceparent } = clientTrace();
  tracer.begin('server', 'GET /plants', traceparent, {}).end();
  await Promise.all([stop(), stop()]);
  assert.deepEqual(
    collector.spans().map((span) => span.trace),
    [trace],
  );
});

test('a share of the traces is kept, the same ones by every process, unless the client has decided', async (t) => {
  const collector = await startCollector();
  t.after(() => collector.stop());
  const service = { name: 'plant-store', version: '1.0.0', attributes: {} };
  const { tracer, stop } = openTracing(
    { endpoint: collector.endpoint, headers: {}, sampler: 'parentbased_traceidratio', ratio: 0.25, service },
    { log: silentLog },
  );
  for (let n = 0; n < 2_000; n++) tracer.begin('server', 'new', undefined, {}).end();
  for (let n = 0; n < 10; n++) tracer.begin('server', 'decided', clientTrace().traceparent, {}).end();
  await stop();
  const count = (name: string) => collector.spans().filter((span) => span.name === name).length;
  assert.ok(count('new') > 400 && count('new') < 600, `${count('new')} of 2000 were kept`);
  assert.equal(count('decided'), 10);
});
