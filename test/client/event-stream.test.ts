import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PlantStore, type PlantStoreError, type StreamedEvent } from '../../packages/client/src/client.ts';
import { type Gateway, startGateway } from '../../testkit/service/gateway.ts';
import { type Service, startService } from '../../testkit/service/service.ts';

let service: Service;
let gateway: Gateway;

before(async () => {
  service = await startService();
  gateway = await startGateway(service);
});
after(async () => {
  await gateway.stop();
  await service.stop();
});

async function clientOf(user: string, url = gateway.url): Promise<PlantStore> {
  return new PlantStore({ url, token: await service.tokenFor(user), timeoutMs: 2_000 });
}

/** Opens a stream, then creates a plant directly, and returns the events up to the plant's. */
async function follow(user: string, name: string, after?: string) {
  const { events: feed } = await clientOf(user);
  const { plants } = await clientOf(user, service.url);
  const ending = new AbortController();
  const errors: PlantStoreError[] = [];
  const events: StreamedEvent[] = [];
  let created: Promise<unknown> | undefined;
  const stream = feed.stream({
    after,
    signal: ending.signal,
    onOpen() {
      created ??= plants.create({ name });
    },
    onError: (error) => errors.push(error),
  });
  for await (const event of stream) {
    events.push(event);
    if (event.plant.name === name) ending.abort();
  }
  await created;
  return { events, errors, names: events.map(({ plant }) => plant.name) };
}

test('events arrive as they happen, until the signal ends the loop', async () => {
  const store = await clientOf('follows');
  const { events, errors } = await follow('follows', 'Alder');
  const [event] = events;
  assert.ok(event);
  const { cursor, ...rest } = event;
  assert.deepEqual(await Array.fromAsync(store.events.list()), [rest]);
  assert.deepEqual((await store.events.page({ cursor })).items, []);
  assert.deepEqual(errors, []);
});

test('a stream continues after the cursor of an event or of a page', async () => {
  const store = await clientOf('goes on');
  const { cursor: start } = await store.events.page();
  for (const name of ['A', 'B', 'C']) await store.plants.create({ name });
  const all = await follow('goes on', 'D', start);
  assert.deepEqual(all.names, ['A', 'B', 'C', 'D']);
  const later = await follow('goes on', 'E', all.events[1]?.cursor);
  assert.deepEqual(later.names, ['C', 'D', 'E']);
});

test('a stream that breaks, fails to open, or stays silent resumes where it was', async () => {
  const store = await clientOf('comes back');
  const head = { 'content-type': 'text/event-stream' };
  const { cursor } = await store.events.page();
  for (const name of ['A', 'B']) await store.plants.create({ name });
  const { items } = await store.events.page();
  const second = await store.events.page({ limit: 1 });
  gateway.script(
    // Ends in the middle of the second event.
    (_, response) => {
      response.writeHead(200, head);
      response.write(`id: ${cursor}\nretry: 10\n\nid: ${second.cursor}\nevent: plant.created\ndata: `);
      response.write(`${JSON.stringify(items[0])}\n\nid: broken\nda`, () => response.destroy());
    },
    { status: 503, body: '{"error":50303,"message":"Shutting down."}' },
    'hang',
  );
  const opened = gateway.received.length;
  const { names, errors } = await follow('comes back', 'C', cursor);
  assert.deepEqual(names, ['A', 'B', 'C']);
  assert.deepEqual(
    errors.map(({ status, error }) => [status, error]),
    [
      [undefined, undefined],
      [503, 50303],
      [undefined, undefined],
    ],
  );
  assert.match(errors[2]?.message ?? '', /silent for 2 s/);
  const streams = gateway.received.slice(opened).filter(({ path }) => path === '/events/stream');
  assert.deepEqual(
    streams.map(({ headers }) => headers['last-event-id']),
    [cursor, second.cursor, second.cursor, second.cursor],
  );
});

test('a fault of the service is retried as often as for a call, and then ends the stream', async () => {
  const token = await service.tokenFor('faults');
  const { events } = new PlantStore({ url: gateway.url, token, retries: 2 });
  const fault = { status: 500, body: '{"error":50000,"message":"A fault."}' };
  const head = { 'content-type': 'text/event-stream' };
  gateway.script(
    fault,
    fault,
    // An opened stream resets the count, and sets the retry delay.
    (_, response) => void response.writeHead(200, head).end('id: 1\nretry: 10\n\n'),
    fault,
    fault,
    fault,
  );
  const statuses: unknown[] = [];
  const stream = events.stream({ onError: ({ status }) => void statuses.push(status) });
  await assert.rejects(Array.fromAsync(stream), { error: 50000 });
  assert.deepEqual(statuses, [500, 500, undefined, 500, 500]);
});

test('a refused stream throws: a wrong token, a wrong cursor, or an answer no plant store gives', async () => {
  const stranger = new PlantStore({ url: service.url, token: 'none-of-ours' });
  await assert.rejects(stranger.events.stream().next(), { error: 40101 });
  const { events } = await clientOf('refused');
  await assert.rejects(events.stream({ after: 'nonsense' }).next(), { error: 40007 });
  gateway.script({ status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Hello</h1>' });
  await assert.rejects(events.stream().next(), { status: 200, error: undefined });
});

test('leaving a loop closes its connection, and with an aborted signal it does not start', async () => {
  const store = await clientOf('leaves');
  const closed = Promise.withResolvers<void>();
  gateway.script((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('id: 1\ndata: {"plant":{"id":9007199254740993}}\n\n');
    response.on('close', closed.resolve);
  });
  for await (const { plant } of store.events.stream()) {
    assert.equal(plant.id, 9007199254740993n);
    break;
  }
  await closed.promise;
  const seen = gateway.received.length;
  assert.deepEqual(await Array.fromAsync(store.events.stream({ signal: AbortSignal.abort() })), []);
  assert.equal(gateway.received.length, seen);
});

test('a stream without even a comment for 45 seconds is reopened', async (t) => {
  const store = await clientOf('hears nothing');
  gateway.script((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('id: 1\n\n: heartbeat\n\n');
  });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const ending = new AbortController();
  const errors: string[] = [];
  const stream = store.events.stream({
    signal: ending.signal,
    // After pending work, so that the timer exists.
    onOpen: () => setImmediate(() => t.mock.timers.tick(45_000)),
    onError(error) {
      errors.push(error.message);
      ending.abort();
    },
  });
  assert.deepEqual(await Array.fromAsync(stream), []);
  assert.deepEqual(errors, ['The event stream was silent for 45 s.']);
});

test('a signal ends a stream that waits for an event, or for its next attempt', async () => {
  const store = await clientOf('ends');
  for (const reply of [undefined, 'reset'] as const) {
    const ending = new AbortController();
    if (reply) gateway.script(reply);
    const end = () => setImmediate(() => ending.abort());
    const stream = store.events.stream({ signal: ending.signal, onOpen: end, onError: end });
    assert.deepEqual(await Array.fromAsync(stream), []);
  }
});

const head = { 'content-type': 'text/event-stream' };

test('the data of an event may span several lines', async () => {
  const store = await clientOf('lines');
  gateway.script((_, response) => {
    response.writeHead(200, head).write('id: 1\ndata: {"plant":\ndata: {"id":7}}\n\n');
  });
  for await (const event of store.events.stream()) {
    assert.deepEqual(event, { plant: { id: 7 }, cursor: '1' });
    break;
  }
});

for (const [what, text] of [
  ['an event without end', `data: ${'x'.repeat(100_000)}`],
  ['an event that is not JSON', 'id: 1\ndata: x\n\n'],
  ['an id that no header holds', 'id: \u202e\n\n'],
] as const) {
  test(`${what} is not from a plant store, and ends the stream`, async () => {
    const store = await clientOf('strange');
    gateway.script((_, response) => void response.writeHead(200, head).write(text));
    await assert.rejects(store.events.stream().next(), { status: 200, message: /not as a plant store/ });
  });
}
