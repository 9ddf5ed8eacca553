import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { firstId } from '../../../src/runtime.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import type { EventData } from '../../../testkit/service/follower.ts';
import { startService } from '../../../testkit/service/service.ts';

const service = await startService();
after(() => service.stop());

type Page = { events: EventData[]; cursor: string };

async function page(token: string, query = ''): Promise<Page> {
  // The first test checks the members; another compares them with the OpenAPI document.
  return succeeded(await service.request('GET', `/events${query}`, { token }), 200) as Page;
}

async function plant(token: string, body: unknown): Promise<void> {
  succeeded(await service.request('POST', '/plants', { body, token }), 201);
}

const idsOf = (events: EventData[]) => events.map(({ plant: { id } }) => id);

test('an event has its id, type, time, and the plant as it was created', async () => {
  const token = await service.tokenFor('reader');
  await plant(token, '{"name":"Alder \\"🌱\\"","tag":"Alnus","id":9007199254740993}');
  await plant(token, '{"name":"Birch","id":-9223372036854775808}');
  succeeded(await service.request('DELETE', '/plants/9007199254740993', { token }), 204);
  const { headers, text } = await service.request('GET', '/events', { token });
  assert.equal(headers.get('content-type'), 'application/json');
  assert.ok(text.includes('"plant":{"id":9007199254740993,"name":"Alder \\"🌱\\"","tag":"Alnus"}}'), text);
  assert.ok(text.includes('"plant":{"id":-9223372036854775808,"name":"Birch"}}'), text);
  const { events, cursor, ...rest }: Page = JSON.parse(text);
  assert.deepEqual(rest, {});
  assert.equal(typeof cursor, 'string');
  for (const event of events) {
    assert.deepEqual(Object.keys(event), ['id', 'type', 'createdAt', 'plant']);
    assert.match(event.id, /^evt_[0-9a-hjkmnp-tv-z]{26}$/);
    assert.equal(event.type, 'plant.created');
    assert.equal(new Date(event.createdAt).toISOString(), event.createdAt);
  }
});

test('events are listed oldest first, and a cursor continues after the last one', async () => {
  const token = await service.tokenFor('walker');
  for (let id = 5; id >= 1; id--) await plant(token, { name: 'Cedar', id });
  const first = await page(token, '?limit=2');
  const second = await page(token, `?limit=2&cursor=${first.cursor}`);
  const third = await page(token, `?limit=2&cursor=${second.cursor}`);
  assert.deepEqual(
    [first, second, third].map(({ events }) => idsOf(events)),
    [[5, 4], [3, 2], [1]],
  );
  // A cursor may be used again, with another limit.
  assert.deepEqual(await page(token, `?limit=2&cursor=${first.cursor}`), second);
  assert.deepEqual(idsOf((await page(token, `?cursor=${first.cursor}`)).events), [3, 2, 1]);

  const fourth = await page(token, `?cursor=${third.cursor}`);
  assert.deepEqual(fourth.events, []);
  await plant(token, { name: 'Cedar', id: 6 });
  assert.deepEqual(idsOf((await page(token, `?cursor=${fourth.cursor}`)).events), [6]);
});

test('a user without events gets a cursor too, after which the first event follows', async () => {
  const [token, other] = [await service.tokenFor('beginner'), await service.tokenFor('neighbour')];
  await plant(other, { name: 'Theirs', id: 1 });
  const empty = await page(token);
  assert.deepEqual(empty.events, []);
  await plant(token, { name: 'Mine', id: 2 });
  assert.deepEqual(idsOf((await page(token, `?cursor=${empty.cursor}`)).events), [2]);
  assert.deepEqual(idsOf((await page(other)).events), [1]);
});

test('a page has 100 events by default', async () => {
  const token = await service.tokenFor('pager');
  await Promise.all(Array.from({ length: 101 }, () => plant(token, { name: 'Fir' })));
  assert.equal((await page(token)).events.length, 100);
  assert.equal((await page(token, '?limit=1000')).events.length, 101);
  const head = await service.request('HEAD', '/events?limit=1', { token });
  assert.deepEqual([head.status, head.text], [200, '']);
});

test('a reader who pages while plants are created sees each event once', async () => {
  const token = await service.tokenFor('reconciler');
  const ids = Array.from({ length: 600 }, (_, i) => i + 1);
  let isDone = false;
  const left = [...ids];
  const writers = Array.from({ length: 12 }, async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift())
      await plant(token, { name: 'Ginkgo', id });
  });
  const written = Promise.all(writers).then(() => {
    isDone = true;
  });

  const walk = async (limit: number): Promise<EventData[]> => {
    const seen: EventData[] = [];
    for (let query = `?limit=${limit}`; ; ) {
      const wasDone = isDone;
      const { events, cursor } = await page(token, query);
      seen.push(...events);
      if (wasDone && events.length < limit) return seen;
      query = `?limit=${limit}&cursor=${cursor}`;
    }
  };
  const walks = await Promise.all([walk(1), walk(7), walk(1000)]);
  await written;
  for (const seen of walks) {
    assert.deepEqual(
      idsOf(seen).sort((a, b) => a - b),
      ids,
    );
    assert.deepEqual(seen, walks[0]);
  }
});

test("an invalid cursor, or another user's, is refused", async () => {
  const [token, other] = [await service.tokenFor('owner'), await service.tokenFor('thief')];
  await plant(token, { name: 'Hazel' });
  const { cursor } = await page(token);
  const ask = (text: string, as = token) => service.request('GET', `/events?cursor=${text}`, { token: as });
  failed(await ask(cursor, other), 40007);
  const altered = Array.from(
    cursor,
    (char, at) => cursor.slice(0, at) + (char === 'a' ? 'b' : 'a') + cursor.slice(at + 1),
  );
  for (const text of [
    ...altered,
    '',
    'x',
    '.',
    '0',
    `${cursor}0`,
    `%20${cursor}`,
    '%00',
    `${cursor}.`,
    'a'.repeat(7000),
  ]) {
    failed(await ask(text), 40007, /cursor/);
  }
  succeeded(await ask(cursor), 200);
});

test('a cursor after which events have expired is refused, by the list and the stream', async () => {
  const token = await service.tokenFor('late');
  const { cursor: beginning } = await page(token);
  for (const id of [1, 2, 3]) await plant(token, { name: 'Ivy', id });
  const { cursor: first } = await page(token, '?limit=1');
  const { cursor: last } = await page(token);
  await service.beside(async ({ store, runtime }) => {
    const owner = (await store.access.users()).find(({ name }) => name === 'late')?.id ?? 0;
    const before = firstId('evt', runtime.clock.now() + 1000);
    // The events; on PostgreSQL, looking for their owner counts, too.
    await store.chores.removeExpired({ before, from: { owner, event: '' }, limit: 4 });
  });
  for (const cursor of [beginning, first]) {
    failed(await service.request('GET', `/events?cursor=${cursor}`, { token }), 40007, /RETENTION_DAYS/);
    const headers = { 'last-event-id': cursor };
    failed(await service.request('GET', '/events/stream', { token, headers }), 40007, /RETENTION_DAYS/);
  }
  await plant(token, { name: 'Ivy', id: 4 });
  assert.deepEqual(idsOf((await page(token, `?cursor=${last}`)).events), [4]);
  assert.deepEqual(idsOf((await page(token)).events), [4]);
});

test('a query that the feed does not have is refused', async () => {
  for (const limit of ['0', '1001', '-1', '1.5', '', 'x', '01', '9223372036854775808']) {
    failed(
      await service.request('GET', `/events?limit=${limit}`),
      40003,
      /"limit" must be an integer from 1 to 1000/,
    );
  }
  for (const query of [
    '?since=2026-01-01T00:00:00Z',
    '?limit=1&limit=1',
    '?type=plant.created',
    '?__proto__=1',
  ]) {
    failed(await service.request('GET', `/events${query}`), 40003);
  }
});
