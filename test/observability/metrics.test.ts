import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { catalogue, type Metric } from '../../src/observability/catalogue.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import type { Scrape } from '../../testkit/service/scrape.ts';
import { startService } from '../../testkit/service/service.ts';
import { type Measured, startMeasured } from './measured.ts';

const DURATION = catalogue.requestDuration.name;
const COUNT = `${DURATION}_count`;

let service: Measured;
before(async () => {
  service = await startMeasured({ WEBHOOK_RETRY_SCHEDULE: '0s,0s' });
});
after(() => service.stop());

test('without METRICS_PORT nothing is measured, and nothing is served', async () => {
  const other = await startService();
  assert.equal(other.metricsUrl, undefined);
  await other.stop();
});

test('the port of the API has no metrics', async () => {
  const { status, text } = await service.request('GET', '/metrics');
  assert.equal(status, 404);
  assert.match(text, /^\{"error":40400,/);
});

test('requests are counted by method, pattern of the route and status, and by nothing that a client chose', async () => {
  const created = await service.request('POST', '/plants', { body: { id: 918273641, name: 'Oak' } });
  assert.equal(created.status, 201);
  await service.request('DELETE', '/plants/918273641');
  await service.request('DELETE', '/plants/918273642');
  await service.request('GET', '/a-path-that-is-not-there');
  await service.request('PROPFIND', '/plants/918273643');
  await service.request('GET', '/docs/tutorial.html', { token: null });
  const found = await service.until('count', (each) => each.value(COUNT, { route: '/docs/*' }) === 1);
  const counts: [method: string, route: string, code: string][] = [
    ['POST', '/plants', '201'],
    ['DELETE', '/plants/:id', '204'],
    ['DELETE', '/plants/:id', '404'],
    ['other', 'none', '405'],
  ];
  for (const [method, route, code] of counts) {
    assert.equal(found.value(COUNT, { method, route, code }), 1, `${method} ${route} ${code}`);
  }
  assert.ok((found.value(COUNT, { method: 'GET', route: 'none', code: '404' }) ?? 0) >= 1);
  assert.doesNotMatch(found.text, /91827364\d|a-path-that|PROPFIND|admin/);
});

test('each failure counts by its code, whatever layer it comes from', async () => {
  const errors = catalogue.errors.name;
  const before = (await service.scrape()).value(errors, { error: '40000' }) ?? 0;
  const unread = (each: Scrape, code: string) =>
    each.value(COUNT, { method: 'other', route: 'none', code }) ?? 0;
  await service.request('GET', '/plants?limit=0');
  await service.request('GET', '/plants/%zz');
  const socket = connect(service.port, '127.0.0.1').end('nonsense\r\n\r\n');
  socket.resume();
  await once(socket, 'close');
  const found = await service.until(
    'failures',
    (each) => each.value(errors, { error: '40000' }) === before + 2,
  );
  assert.equal(found.value(errors, { error: '40003' }), 1);
  assert.equal(unread(found, '400'), 2, 'what is a failure counts among the requests as well');
  assert.equal(found.value(errors, { error: '50300' }), 0, 'what has not happened is there as well');
});

test('writes are counted by batch, with the time of the commit', async () => {
  const name = `${catalogue.commitCommands.name}_sum`;
  const before = (await service.scrape()).value(name, { queue: 'writes' }) ?? 0;
  const body = { name: 'Birch' };
  await Promise.all(Array.from({ length: 20 }, () => service.request('POST', '/plants', { body })));
  const found = await service.until('commit', (each) => (each.value(name) ?? 0) >= before + 20);
  const commits = found.value(`${catalogue.commitDuration.name}_count`, { queue: 'writes' }) ?? 0;
  assert.ok(commits > 0 && (found.value(`${catalogue.commitDuration.name}_sum`) ?? 0) > 0);
  assert.equal(found.value(catalogue.queueCommands.name, { queue: 'writes' }), 0);
});

test('deliveries are counted by the outcome of their attempts', async () => {
  const receiver = await startReceiver();
  receiver.script({ status: 500 }, { status: 503, headers: { 'retry-after': '1' } });
  await service.request('POST', '/webhooks', { body: { url: receiver.url } });
  await service.request('POST', '/plants', { body: { name: 'Elm' } });
  const attempts = catalogue.attempts.name;
  const found = await service.until(
    'attempt that failed',
    (each) => each.value(attempts, { outcome: 'failed' }) === 1,
  );
  assert.equal(found.value(attempts, { outcome: 'retrying' }), 1);
  assert.equal(found.value(attempts, { outcome: 'delivered' }), 0);
  assert.equal(found.value(catalogue.pauses.name), 1);
  assert.equal(found.value(`${catalogue.attemptDuration.name}_count`, { outcome: 'retrying' }), 1);
  assert.equal(found.value(catalogue.deliveriesUnderWay.name), 0);
  await receiver.stop();
});

test('outcomes of attempts are counted by batch, in a queue of their own', async (t) => {
  const token = await service.tokenFor('owner-of-outcomes');
  const receiver = await startReceiver();
  t.after(receiver.stop);
  await service.request('POST', '/webhooks', { token, body: { url: receiver.url } });
  const queue = { queue: 'dispatch' };
  const recorded = (found: Scrape) => found.value(`${catalogue.commitCommands.name}_sum`, queue) ?? 0;
  const delivered = (found: Scrape) => found.value(catalogue.attempts.name, { outcome: 'delivered' }) ?? 0;
  const before = await service.scrape();
  const body = { name: 'Oak' };
  await Promise.all(Array.from({ length: 20 }, () => service.request('POST', '/plants', { token, body })));
  const found = await service.until('deliveries', (each) => delivered(each) === delivered(before) + 20);
  assert.equal(recorded(found), recorded(before) + 20);
  assert.equal(found.value(catalogue.queueCommands.name, queue), 0);
});

test('a webhook whose attempts are answered 410 or 429 together is disabled once, and pauses once', async () => {
  const { disabled, pauses } = catalogue;
  for (const [status, { name }] of [
    [410, disabled],
    [429, pauses],
  ] as const) {
    const before = (await service.scrape()).value(name) ?? 0;
    const token = await service.tokenFor(`owner-of-${status}`);
    const receiver = await startReceiver();
    const answers: (() => void)[] = [];
    receiver.usually((_, response) => {
      answers.push(() => void response.writeHead(status, { 'retry-after': '60' }).end());
    });
    await service.request('POST', '/webhooks', { token, body: { url: receiver.url } });
    for (let n = 0; n < 5; n++) await service.request('POST', '/plants', { token, body: { name: 'Fir' } });
    await receiver.receive(5);
    const retrying = { outcome: 'retrying' };
    const attempts = (await service.scrape()).value(catalogue.attempts.name, retrying) ?? 0;
    for (const answer of answers) answer();
    const found = await service.until(
      'attempts',
      (each) =>
        each.value(catalogue.attempts.name, retrying) === attempts + 5 &&
        each.value(catalogue.deliveriesUnderWay.name) === 0 &&
        each.value(name) !== before,
    );
    assert.equal(found.value(name), before + 1, String(status));
    await receiver.stop();
  }
});

test('a client that leaves before it is answered counts as 499, and leaves no request in progress', async () => {
  const underWay = catalogue.requestsUnderWay.name;
  const head = `Host: x\r\nAuthorization: Bearer ${service.token}\r\n\r\n`;
  const stream = connect(service.port, '127.0.0.1', () =>
    // An endless stream, and requests behind it that never get their turn.
    stream.write(`GET /events/stream HTTP/1.1\r\n${head}${`GET /plants HTTP/1.1\r\n${head}`.repeat(3)}`),
  );
  stream.resume();
  await service.until('stream', (each) => (each.value(underWay) ?? 0) >= 2);
  stream.destroy();
  const found = await service.until('end', (each) => each.value(underWay) === 0);
  assert.equal(found.value(COUNT, { route: '/events/stream' }), 1);
  assert.ok((found.value(COUNT, { method: 'GET', route: '/plants', code: '499' }) ?? 0) >= 1);
});

test('pipelined requests on one connection count once each, and leave no listeners behind', async (t) => {
  const warnings: Error[] = [];
  const keep = (warning: Error) => void warnings.push(warning);
  process.on('warning', keep);
  t.after(() => process.off('warning', keep));
  const ofHealth = { method: 'GET', route: '/healthz', code: '200' };
  const before = (await service.scrape()).value(COUNT, ofHealth) ?? 0;
  const socket = connect(service.port, '127.0.0.1', () =>
    socket.end('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(50)),
  );
  socket.resume();
  await once(socket, 'close');
  const found = await service.until('answers', (each) => (each.value(COUNT, ofHealth) ?? 0) >= before + 50);
  assert.equal(found.value(COUNT, ofHealth), before + 50);
  assert.equal(found.value(catalogue.requestsUnderWay.name), 0);
  assert.deepEqual(warnings, []);
});

test('every metric of the catalogue is exported, with its type and only its own labels', async () => {
  const found = await service.scrape();
  // The disk of a database is elsewhere.
  const isInDatabase = found.value(catalogue.buildInfo.name, { store: 'postgres' }) === 1;
  for (const { name, type, labels = [] } of Object.values<Metric>(catalogue)) {
    assert.equal(found.types.get(name), type, name);
    const series = type === 'histogram' ? `${name}_bucket` : name;
    const own = type === 'histogram' ? [...labels, 'le'] : labels;
    const isAbsent = isInDatabase && name === catalogue.storeFree.name;
    assert.equal(found.names.has(series), !isAbsent, series);
    for (const sample of found.samples(series)) {
      assert.deepEqual(Object.keys(sample.labels).sort(), [...own].sort(), series);
    }
  }
});

test('a histogram counts each value once, in its bucket and all larger ones', async () => {
  const found = await service.scrape();
  const labels = { method: 'POST', route: '/plants', code: '201' };
  const buckets = found
    .samples(`${DURATION}_bucket`)
    .filter(({ labels: each }) => each.route === '/plants' && each.code === '201' && each.method === 'POST')
    .map(({ value }) => value);
  assert.deepEqual(
    buckets,
    buckets.toSorted((one, other) => one - other),
  );
  assert.equal(buckets.at(-1), found.value(COUNT, labels));
  assert.equal(buckets.length, catalogue.requestDuration.buckets.length + 1);
});
