import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { failed } from '../../../testkit/service/answer.ts';
import {
  follow,
  idsOf,
  nextResponse,
  openStream,
  plant,
  refused,
  take,
  withService,
} from '../../../testkit/service/follower.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import { exchange } from '../../../testkit/sockets/raw-client.ts';
import { head } from '../../../testkit/sockets/raw-request.ts';

test('a new event arrives at once, as its cursor, type, and JSON in one line', () =>
  withService(async (service) => {
    const token = await service.tokenFor('reader');
    await plant(service, token, { name: 'Before' });
    const follower = await follow(service, token);
    const { headers } = follower.response;
    assert.equal(headers['content-type'], 'text/event-stream');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['x-accel-buffering'], 'no');

    await plant(service, token, '{"name":"Line\\nbreak\\r\\u2028","tag":"🌱","id":9007199254740993}');
    const block = await follower.next();
    // On PostgreSQL, a transaction comes first in it.
    const [, cursor, id, createdAt] =
      /^id: ((?:\d+_)?evt_\w+\.[\w-]{22})\nevent: plant\.created\ndata: \{"id":"(evt_\w{26})","type":"plant\.created","createdAt":"([^"]+)",/.exec(
        block,
      ) ?? [];
    assert.ok(
      block.endsWith(',"plant":{"id":9007199254740993,"name":"Line\\nbreak\\r\u2028","tag":"🌱"}}'),
      block,
    );
    assert.ok(Math.abs(Date.parse(createdAt ?? '') - Date.now()) < 60_000);
    const listed = await service.request('GET', '/events', { token });
    assert.ok(listed.text.includes(`"id":"${id}"`));
    assert.equal(JSON.parse(listed.text).cursor, cursor);
    follower.close();
  }));

test('a stream continues after Last-Event-ID, whether from the stream or the list', () =>
  withService(async (service) => {
    const token = await service.tokenFor('resumer');
    for (let id = 1; id <= 3; id++) await plant(service, token, { name: 'Birch', id });
    const list = await service.request('GET', '/events?limit=1', { token });
    const first = await follow(service, token, JSON.parse(list.text).cursor);
    const [second] = await take(first, 1);
    assert.equal(second?.data.plant.id, 2);
    first.close();

    for (let id = 4; id <= 250; id++) await plant(service, token, { name: 'Birch', id });
    const again = await follow(service, token, second?.cursor);
    const rest = await take(again, 248);
    assert.deepEqual(
      idsOf(rest),
      Array.from({ length: 248 }, (_, i) => i + 3),
    );
    await plant(service, token, { name: 'Birch', id: 251 });
    assert.deepEqual(idsOf(await take(again, 1)), [251]);
    again.close();
    const { events } = JSON.parse(
      (await service.request('GET', `/events?cursor=${rest.at(-1)?.cursor}`, { token })).text,
    );
    assert.equal(events.length, 1);
  }));

test('each follower gets every event once and in order while many are created concurrently', () =>
  withService(async (service) => {
    const [token, other] = [await service.tokenFor('busy'), await service.tokenFor('neighbour')];
    const followers = await Promise.all([follow(service, token), follow(service, token)]);
    const stranger = await follow(service, other);
    const ids = Array.from({ length: 300 }, (_, i) => i + 1);
    const reading = Promise.all(followers.map((follower) => take(follower, ids.length)));
    await Promise.all(ids.map((id) => plant(service, token, { name: 'Cedar', id })));
    for (const events of await reading) {
      assert.deepEqual(
        idsOf(events).sort((a, b) => a - b),
        ids,
      );
      const order = events.map(({ data }) => data.id);
      assert.deepEqual(order, [...order].sort());
    }
    // Events of others stay hidden.
    await plant(service, other, { name: 'Mine', id: 7 });
    const [own] = await take(stranger, 1);
    assert.equal(own?.data.plant.name, 'Mine');
    for (const follower of [...followers, stranger]) follower.close();
  }));

test('a Last-Event-ID that is not a cursor of this user is refused before the stream begins', () =>
  withService(async (service) => {
    const [token, other] = [await service.tokenFor('owner'), await service.tokenFor('thief')];
    await plant(service, token);
    const { cursor } = JSON.parse((await service.request('GET', '/events', { token })).text);
    const wrong = ['x', `${cursor}0`, cursor.slice(1), `${cursor}, ${cursor}`, '0', 'x'.repeat(5000)];
    for (const lastEventId of wrong) await refused(service, token, 40007, lastEventId);
    await refused(service, other, 40007, cursor);
    (await follow(service, token, cursor)).close();
    // Some clients send an empty one before they have a cursor.
    (await follow(service, token, '')).close();
    failed(await service.request('GET', '/events/stream?cursor=x', { token }), 40003);
  }));

test('HEAD answers without a stream', () =>
  withService(async (service) => {
    const answer = await service.request('HEAD', '/events/stream');
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/event-stream');
    assert.equal(answer.text, '');
    const headers = { 'last-event-id': 'x' };
    assert.equal((await service.request('HEAD', '/events/stream', { headers })).status, 400);
  }));

test('a client of HTTP/1.0 gets the stream without chunks', () =>
  withService(async (service) => {
    const bytes = head('GET /events/stream HTTP/1.0', `Authorization: Bearer ${service.token}`);
    const sending = nextResponse();
    const answered = exchange(service.port, bytes);
    await once(await sending, 'pipe');
    // Complete only when the connection ends.
    await service.stop();
    const answer = await answered;
    assert.equal(answer.headers.get('transfer-encoding'), null);
    assert.match(answer.text, /^id: \w+\.[\w-]{22}\nretry: 1000\n\n$/);
  }));

test('a user has at most 32 streams, and ending one makes room', () =>
  withService(async (service) => {
    const [token, other] = [await service.tokenFor('many'), await service.tokenFor('one')];
    const followers = await Promise.all(Array.from({ length: 32 }, () => follow(service, token)));
    const answer = await refused(service, token, 42900);
    assert.equal(answer.headers.get('retry-after'), '30');
    (await follow(service, other)).close();

    followers.pop()?.close();
    for (let freed = false; !freed; ) {
      const response = await openStream(service, token);
      freed = response.statusCode === 200;
      response.destroy();
    }
    await plant(service, token, { name: 'Seen by all', id: 1 });
    for (const follower of followers) assert.deepEqual(idsOf(await take(follower, 1)), [1]);
    for (const follower of followers) follower.close();
  }));

test('a stream ends with its token, and shows no later events', () =>
  withService(async (service) => {
    const token = await service.tokenFor('revoked');
    const second = await service.tokenFor('revoked');
    const [follower, other] = [await follow(service, token), await follow(service, second)];
    await service.beside(async ({ store, runtime }) => {
      const tokens = await store.access.tokens();
      const { id } = tokens.find(({ user }) => user.name === 'revoked') ?? { id: '' };
      assert.ok(await store.access.revokeToken(id, runtime.clock.now()));
    });
    await plant(service, second, { name: 'Secret', id: 1 });
    await follower.ended();
    assert.deepEqual(idsOf(await take(other, 1)), [1]);
    other.close();
    await refused(service, token, 40101);
  }));

test('streams end when the service stops, and do not delay it', () =>
  withService(async (service) => {
    const token = await service.tokenFor('drained');
    const followers = await Promise.all(Array.from({ length: 5 }, () => follow(service, token)));
    await plant(service, token, { name: 'Last', id: 1 });
    for (const follower of followers) await take(follower, 1);
    using watch = startWatch();
    await service.stop();
    for (const follower of followers) await follower.ended();
    assert.ok(watch.ms() < 5000);
  }));

test('clients that disconnect at any moment do not harm the service', () =>
  withService(async (service) => {
    const token = await service.tokenFor('flighty');
    for (let round = 0; round < 5; round++) {
      const responses = await Promise.all(Array.from({ length: 30 }, () => openStream(service, token)));
      assert.deepEqual(
        responses.map(({ statusCode }) => statusCode),
        Array(30).fill(200),
      );
      const created = plant(service, token);
      for (const response of responses) response.destroy();
      await created;
      // Until the service has noticed that they are gone.
      for (let open = 30; open > 0; ) {
        const probes = await Promise.all(Array.from({ length: 30 }, () => openStream(service, token)));
        open = probes.filter(({ statusCode }) => statusCode === 429).length;
        for (const probe of probes) probe.destroy();
        await delay(20);
      }
    }
  }));
