import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type Int64,
  PlantStore,
  PlantStoreError,
  type PlantWith,
  verifyWebhook,
} from '../../packages/client/src/client.ts';
import { errorNames } from '../../packages/client/src/plant-store-error.ts';
import type { NewPlant } from '../../packages/client/src/schemas.ts';
import type { NewPlant as VerifiedPlant } from '../../packages/client/src/verify-webhook.ts';
import { catalogue } from '../../src/errors.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { eventually } from '../../testkit/service/eventually.ts';
import { type Service, startService } from '../../testkit/service/service.ts';

let service: Service;
before(async () => {
  service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_RETRY_SCHEDULE: '0s' });
});
after(() => service.stop());

/** The client of a new user, so that tests do not affect each other. */
async function clientOf(user: string): Promise<PlantStore> {
  return new PlantStore({ url: service.url, token: await service.tokenFor(user) });
}

test('a created plant is returned with its id, and without a tag if it has none', async () => {
  const { plants } = await clientOf('creates');
  assert.deepEqual(await plants.create({ name: 'Alder', tag: 'Alnus' }), {
    id: 1,
    name: 'Alder',
    tag: 'Alnus',
  });
  assert.deepEqual(await plants.create({ name: 'Birch', tag: undefined }), { id: 2, name: 'Birch' });
  assert.deepEqual(await plants.create({ id: 7, name: 'Cedar' }), { id: 7, name: 'Cedar' });
});

test('an id of 64 bits keeps every digit, however it is given', async () => {
  const { plants, events } = await clientOf('digits');
  const ids = [2n ** 53n + 1n, '9223372036854775807', -(2n ** 63n), Number.MAX_SAFE_INTEGER, '-5', 0, -0];
  const exact = [9007199254740993n, 9223372036854775807n, -9223372036854775808n, 9007199254740991, -5, 0];
  for (const [i, id] of ids.slice(0, -1).entries()) {
    assert.deepEqual(await plants.create({ id, name: 'Alder' }), { id: exact[i], name: 'Alder' });
  }
  const listed = (await Array.fromAsync(plants.list({ fields: ['id'] }))).map(({ id }) => id);
  assert.deepEqual(new Set(listed), new Set(exact));
  assert.deepEqual(
    (await Array.fromAsync(events.list())).map(({ plant }) => plant.id),
    exact,
  );
  for (const id of exact) await plants.delete(id);
  assert.deepEqual(await Array.fromAsync(plants.list()), []);
});

test('an id that a URL would read as a dot segment is escaped', async () => {
  const asked: string[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    return Response.json({});
  };
  const { webhooks } = new PlantStore({ url: 'http://127.0.0.1:9', token: 'none', fetch });
  for (const id of ['', '.', '..']) {
    await assert.rejects(webhooks.get(id), TypeError, id);
    await assert.rejects(webhooks.delete(id), TypeError, id);
    await assert.rejects(webhooks.delivery('wh_1', id), TypeError, id);
    await assert.rejects(webhooks.redeliver('wh_1', id), TypeError, id);
  }
  assert.deepEqual(asked, []);
  await webhooks.get('../plants/7?x#y');
  assert.deepEqual(asked, ['http://127.0.0.1:9/webhooks/..%2Fplants%2F7%3Fx%23y']);
});

test('a token that does not fit a header is refused without showing it', async () => {
  for (const token of ['pst_se\ncret', 'pst_sécret', 'pst_s🌱']) {
    const { plants } = new PlantStore({ url: 'http://127.0.0.1:9', token });
    await assert.rejects(plants.page(), (error) => {
      assert.ok(error instanceof TypeError);
      assert.doesNotMatch(error.message, /pst_/);
      return true;
    });
  }
  const token = await service.tokenFor('reads a file');
  assert.deepEqual(await new PlantStore({ url: service.url, token: `${token}\n` }).webhooks.list(), []);
});

test('a URL that is not http is refused at once', () => {
  for (const url of ['localhost:3000', '127.0.0.1:3000', 'ftp://127.0.0.1', '']) {
    assert.throws(() => new PlantStore({ url, token: 'none' }), TypeError, url);
  }
});

test('an id that is not an integer, or may have lost digits, is refused before it is sent', async () => {
  const { plants, webhooks } = new PlantStore({ url: 'http://127.0.0.1:9', token: 'none' });
  for (const id of [2 ** 53, 1.5, Number.NaN, Infinity, '07', '7.0', '', ' 7', '0x7', '-0']) {
    await assert.rejects(plants.delete(id), TypeError, String(id));
    await assert.rejects(plants.create({ id, name: 'Alder' }), TypeError, String(id));
    if (typeof id !== 'number') continue;
    await assert.rejects(plants.page({ from: id }), TypeError, String(id));
    await assert.rejects(webhooks.allDeliveriesPage({ plant: id }), TypeError, String(id));
  }
});

test('the list follows cursors to its end, and has the requested fields', async () => {
  const client = await clientOf('lists');
  const names = Array.from({ length: 7 }, (_, i) => `Plant ${i}`);
  for (const name of names) await client.plants.create({ name });
  for (const pageSize of [1, 3, 7, 8, undefined]) {
    const listed = await Array.fromAsync(client.plants.list({ pageSize, fields: ['name'] }));
    assert.deepEqual(
      listed,
      names.map((name) => ({ name })),
    );
  }
  const [first] = await Array.fromAsync(client.plants.list());
  assert.deepEqual(first, { id: 1, name: 'Plant 0', owner: 'lists' });
});

test('every page but the last has a next one', async () => {
  const { plants } = await clientOf('pages');
  for (const name of ['Alder', 'Birch', 'Cedar']) await plants.create({ name });
  const first = await plants.page({ limit: 2, fields: ['id', 'name'] });
  assert.deepEqual(first.items, [
    { id: 1, name: 'Alder' },
    { id: 2, name: 'Birch' },
  ]);
  assert.equal(typeof first.next, 'string');
  const second = await plants.page({ limit: 2, cursor: first.next, fields: ['id', 'name'] });
  assert.deepEqual(second, { items: [{ id: 3, name: 'Cedar' }], next: undefined });
});

test('plants are found by the beginning of their name, and listed by descending ids', async () => {
  const { plants } = await clientOf('orders');
  for (const name of ['Beech', 'alder', 'ALDER']) await plants.create({ name });
  const ids = async (options: Parameters<typeof plants.list>[0]) =>
    (await Array.fromAsync(plants.list({ ...options, pageSize: 1 }))).map(({ id }) => id);
  assert.deepEqual(await ids({ name: 'Al' }), [2, 3]);
  assert.deepEqual(await ids({ order: 'desc' }), [3, 2, 1]);
});

test('the type of a listed plant has the requested fields', async () => {
  const { plants } = await clientOf('types');
  await plants.create({ name: 'Alder' });
  for await (const plant of plants.list({ fields: ['id', 'tag'] })) {
    const id: Int64 = plant.id;
    const tag: string | undefined = plant.tag;
    // @ts-expect-error nobody asked for it
    assert.deepEqual([id, tag, plant.name], [1, undefined, undefined]);
  }
  const whole: PlantWith<'id' | 'name' | 'tag' | 'owner'>[] = (await plants.page()).items;
  assert.equal(whole.length, 1);
});

test('the plant of a verified webhook is the plant of an event', () => {
  const verified: VerifiedPlant = { id: 1n, name: 'Alder' };
  const plant: NewPlant = verified;
  const again: VerifiedPlant = plant;
  assert.equal(again, verified);
});

test('the user, the scopes and the end of the token are known', async () => {
  const token = await service.tokenFor('asks', { scopes: ['plants:read'], expiresInMs: 3_600_000 });
  const { expiresAt, ...me } = await new PlantStore({ url: service.url, token }).me();
  assert.deepEqual(me, { user: 'asks', scopes: ['plants:read'] });
  assert.ok(Date.parse(String(expiresAt)) > Date.now());
});

test('a failure has the code, the name, the status, the id and the sentence of the service', async () => {
  const { plants } = await clientOf('fails');
  await plants.create({ id: 1, name: 'Alder' });
  await assert.rejects(plants.create({ id: 1, name: 'Birch' }), (error) => {
    assert.ok(error instanceof PlantStoreError && error instanceof Error);
    assert.deepEqual([error.name, error.error, error.status], ['PlantStoreError', 40900, 409]);
    assert.equal(error.code, 'plant-exists');
    assert.match(error.requestId ?? '', /^\w+/);
    assert.match(error.message, /already/);
    return true;
  });
  await assert.rejects(plants.delete(2), { error: 40401, status: 404 });
  await assert.rejects(plants.create({ name: '' }), { error: 40002 });
  // @ts-expect-error a plant has no colour, and the service says so
  await assert.rejects(plants.create({ name: 'Birch', colour: 'white' }), { error: 40002 });
});

test('every code of the catalogue has a name of its own', () => {
  assert.deepEqual(Object.keys(errorNames), Object.keys(catalogue));
  assert.equal(new Set(Object.values(errorNames)).size, Object.keys(catalogue).length);
});

test('a token may be a function, which is asked for every attempt', async () => {
  const token = await service.tokenFor('rotates');
  const tokens = ['none-of-ours', token, token];
  const store = new PlantStore({ url: `${service.url}/`, token: async () => tokens.shift() ?? '' });
  await assert.rejects(store.plants.page(), { error: 40101, status: 401 });
  assert.deepEqual(await store.plants.page(), { items: [], next: undefined });
  assert.equal(tokens.length, 1);
});

test('the token function may fail, and its error is passed on unchanged', async () => {
  const failure = new Error('signed out');
  const store = new PlantStore({ url: service.url, token: () => Promise.reject(failure) });
  await assert.rejects(store.plants.page(), failure);
  await assert.rejects(store.events.stream().next(), failure);
});

test('calls with the same key count as one, whatever its characters', async () => {
  const { plants } = await clientOf('keys');
  const idempotencyKey = 'line 7, "Alder" \\ 1';
  const first = await plants.create({ name: 'Alder' }, { idempotencyKey });
  assert.deepEqual(await plants.create({ name: 'Alder' }, { idempotencyKey }), first);
  await assert.rejects(plants.create({ name: 'Birch' }, { idempotencyKey }), { error: 42200 });
  assert.notDeepEqual(await plants.create({ name: 'Alder' }, { idempotencyKey: undefined }), first);
});

test('a webhook is created, changed, rotated and deleted', async () => {
  const { webhooks } = await clientOf('owns');
  const made = await webhooks.create({ url: 'http://127.0.0.1:9/plants', description: 'The greenhouse' });
  assert.match(made.secret, /^whsec_/);
  const { secret, ...shown } = made;
  assert.deepEqual(await webhooks.get(made.id), shown);
  const changed = await webhooks.update(made.id, { description: null, rate: 3, enabled: false });
  assert.deepEqual([changed.status, changed.rate, changed.description], ['disabled', 3, undefined]);
  const rotated = await webhooks.rotateSecret(made.id, { overlap: 60 });
  assert.notEqual(rotated.secret, secret);
  assert.ok(Date.parse(rotated.overlapUntil) < Date.now() + 61_000);
  assert.match((await webhooks.rotateSecret(made.id)).secret, /^whsec_/);
  assert.deepEqual(
    (await webhooks.list()).map(({ id }) => id),
    [made.id],
  );
  await webhooks.delete(made.id);
  assert.deepEqual(await webhooks.list(), []);
  await assert.rejects(webhooks.get(made.id), { error: 40402 });
});

test('deliveries are listed by state, shown with their attempts, redelivered and replayed', async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const client = await clientOf('delivers');
  const { webhooks } = client;
  const { id, secret } = await webhooks.create({ url: receiver.url });
  const { event, type } = await webhooks.test(id);
  assert.equal(type, 'plant.test');
  const [request] = await receiver.receive(1);
  assert.ok(request);
  const verified = await verifyWebhook(request.headers, request.body, secret);
  assert.equal(verified.id, event);
  const delivered = await eventually('delivery', async () => {
    const delivery = await webhooks.delivery(id, event);
    return delivery.state === 'delivered' ? delivery : undefined;
  });
  assert.deepEqual(
    delivered.history.map(({ status }) => status),
    [204],
  );

  for (const name of ['Alder', 'Birch']) await client.plants.create({ name });
  const all = await Array.fromAsync(webhooks.deliveries(id, { pageSize: 1 }));
  assert.deepEqual(
    all.map(({ plant }) => plant.name),
    ['Birch', 'Alder', 'Test plant'],
  );
  assert.deepEqual(await Array.fromAsync(webhooks.deliveries(id, { state: 'held' })), []);
  const page = await webhooks.deliveriesPage(id, { limit: 2 });
  const rest = await webhooks.deliveriesPage(id, { limit: 2, cursor: page.next });
  assert.deepEqual([page.items.length, rest.items.length, rest.next], [2, 1, undefined]);

  assert.equal((await webhooks.redeliver(id, event)).event, event);
  assert.deepEqual(await webhooks.replay(id, { since: new Date(0) }), { count: 2 });
  assert.deepEqual(await webhooks.replay(id, { since: '2100-01-01T00:00:00Z', state: 'failed' }), {
    count: 0,
  });
});

test('events are listed to the end, and a page says where to continue', async () => {
  const { events, plants } = await clientOf('reconciles');
  const empty = await events.page();
  assert.deepEqual(empty.items, []);
  for (const name of ['Alder', 'Birch', 'Cedar']) await plants.create({ name });
  const names = async (...options: Parameters<typeof events.list>) =>
    (await Array.fromAsync(events.list(...options))).map(({ plant }) => plant.name);
  assert.deepEqual(await names({ pageSize: 2 }), ['Alder', 'Birch', 'Cedar']);
  assert.deepEqual(await names({ pageSize: 3 }), ['Alder', 'Birch', 'Cedar']);
  const { cursor } = await events.page({ cursor: empty.cursor, limit: 1 });
  assert.deepEqual(await names({ cursor }), ['Birch', 'Cedar']);
});

test('the activity of the last hours is listed oldest first', async () => {
  const client = await clientOf('looks');
  await client.plants.create({ name: 'Alder' });
  const { hours } = await client.activity({ hours: 3 });
  assert.equal(hours.length, 3);
  // The hour may have ended meanwhile.
  assert.equal(
    hours.reduce((sum, { plants }) => sum + plants, 0),
    1,
  );
  assert.deepEqual(
    hours.map(({ from }) => from),
    hours.map(({ from }) => from).toSorted(),
  );
  assert.equal((await client.activity()).hours.length, 24);
});

test('an invalid URL is refused when the client is created', () => {
  assert.throws(() => new PlantStore({ url: 'localhost', token: '' }), TypeError);
});
