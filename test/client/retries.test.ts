import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { after, before, suite, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { PlantStore, PlantStoreError, type PlantStoreOptions } from '../../packages/client/src/client.ts';
import { mayBeDone } from '../../packages/client/src/retries.ts';
import type { Reply } from '../../testkit/receivers/receiver.ts';
import { startGateway } from '../../testkit/service/gateway.ts';
import { type Service, startService } from '../../testkit/service/service.ts';

/** How the client handles a misbehaving server in front of the service. */

let service: Service;
before(async () => {
  service = await startService();
});
after(() => service.stop());

/** A gateway and a user for the test, and a client that uses the gateway. */
async function setUp(t: TestContext, options: Partial<PlantStoreOptions> = {}) {
  const gateway = await startGateway(service);
  t.after(() => gateway.stop());
  const store = new PlantStore({ url: gateway.url, token: await service.tokenFor(t.name), ...options });
  return { gateway, store, asked: () => gateway.received.map(({ method }) => method) };
}

function failure(status: number, error?: number, headers: Record<string, string> = {}): Reply {
  const body = error === undefined ? '<h1>Bad day</h1>' : JSON.stringify({ error, message: 'A bad day.' });
  return { status, headers, body };
}

suite('retries', { concurrency: true }, () => {
  for (const [how, behindBytes] of [
    ['before its first byte', undefined],
    ['in its body', 5],
  ] as const) {
    test(`a create whose answer is cut off ${how} is retried under its key, and creates one plant`, async (t) => {
      const { gateway, store } = await setUp(t);
      gateway.script(gateway.cut(behindBytes), gateway.cut(behindBytes));
      assert.deepEqual(await store.plants.create({ name: 'Alder' }), { id: 1, name: 'Alder' });
      assert.deepEqual(await Array.fromAsync(store.plants.list({ fields: ['id'] })), [{ id: 1 }]);
      const creates = gateway.received.filter(({ method }) => method === 'POST');
      assert.equal(creates.length, 3);
      const distinct = new Set(creates.map(({ headers, body }) => `${headers['idempotency-key']} ${body}`));
      assert.equal(distinct.size, 1);
    });
  }

  test('a refusal whose answer is cut off is asked for again', async (t) => {
    const { gateway, store, asked } = await setUp(t);
    await store.plants.create({ id: 1, name: 'Alder' });
    gateway.script(gateway.cut(5));
    await assert.rejects(store.plants.create({ id: 1, name: 'Birch' }), { status: 409, error: 40900 });
    assert.deepEqual(asked(), ['POST', 'POST', 'POST']);
  });

  test('each create has a key of its own', async (t) => {
    const { gateway, store } = await setUp(t);
    for (const name of ['Alder', 'Alder']) await store.plants.create({ name });
    const keys = gateway.received.map(({ headers }) => headers['idempotency-key']);
    assert.equal(new Set(keys).size, 2);
    assert.ok(keys.every((key) => typeof key === 'string' && key.length >= 20));
  });

  for (const [what, reply] of [
    ['a connection that is reset', 'reset'],
    ['503', failure(503, 50300)],
    ['429', failure(429, 42900)],
    ['408', failure(408, 40800)],
    ['409 of a first request that still runs', failure(409, 40901)],
    ['502 of a proxy', failure(502)],
  ] as const) {
    test(`${what} passes with the next attempt`, async (t) => {
      const { gateway, store } = await setUp(t);
      gateway.script(reply);
      assert.deepEqual(await store.plants.page(), { items: [], next: undefined });
    });
  }

  for (const [status, error] of [
    [400, 40002],
    [401, 40101],
    [404, 40401],
    [409, 40900],
    [422, 42200],
    [500, 50000],
    [404],
  ] as const) {
    test(`${status} ${error ?? 'of a proxy'} is not retried`, async (t) => {
      const { gateway, store, asked } = await setUp(t);
      gateway.script(failure(status, error));
      await assert.rejects(store.plants.create({ name: 'Alder' }), { status, error });
      assert.deepEqual(asked(), ['POST']);
    });
  }

  test('the client waits for Retry-After', async (t) => {
    const { gateway, store } = await setUp(t);
    gateway.script(failure(503, 50303, { 'retry-after': '1' }));
    const start = performance.now();
    await store.plants.page();
    // A timer may fire within the last millisecond.
    assert.ok(performance.now() - start >= 999);
  });

  test('a Retry-After over a minute ends the call, and its error says how long', async (t) => {
    const { gateway, store, asked } = await setUp(t);
    gateway.script(failure(429, 42900, { 'retry-after': '61' }));
    await assert.rejects(store.plants.page(), { error: 42900, status: 429, retryAfter: 61 });
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
    gateway.script(failure(503, undefined, { 'retry-after': inAnHour }));
    await assert.rejects(store.plants.page(), (error) => {
      assert.ok(error instanceof PlantStoreError && error.error === undefined);
      assert.ok(error.retryAfter && error.retryAfter > 3590 && error.retryAfter <= 3600);
      return true;
    });
    assert.equal(asked().length, 2);
  });

  for (const retries of [0, 2]) {
    test(`${retries} retries end with the last failure`, async (t) => {
      const { gateway, store, asked } = await setUp(t, { retries });
      gateway.script(...Array.from({ length: retries }, () => 'reset' as const), failure(503, 50302));
      await assert.rejects(store.plants.page(), { error: 50302, status: 503 });
      assert.equal(asked().length, retries + 1);
    });
  }

  test('an invalid number of retries means none, rather than infinitely many', async (t) => {
    const { gateway, store, asked } = await setUp(t, { retries: Number.NaN });
    gateway.script('reset');
    await assert.rejects(store.plants.page(), PlantStoreError);
    assert.equal(asked().length, 1);
  });

  test('where nobody listens, the error has no status and says why', async (t) => {
    const { gateway, store } = await setUp(t, { retries: 0 });
    await gateway.stop();
    await assert.rejects(store.plants.page(), (error) => {
      assert.ok(error instanceof PlantStoreError);
      assert.deepEqual([error.error, error.status], [undefined, undefined]);
      assert.match(error.message, /^http:\/\/127\.0\.0\.1:\d+ did not answer: .*ECONNREFUSED/);
      assert.ok(error.cause instanceof Error);
      return true;
    });
  });

  test('an attempt that takes too long is abandoned for the next one', async (t) => {
    // Long enough for the second attempt, although many other tests run.
    const { gateway, store } = await setUp(t, { timeoutMs: 5_000, retries: 1 });
    gateway.script('hang');
    assert.deepEqual(await store.plants.page(), { items: [], next: undefined });
    const hasty = await setUp(t, { timeoutMs: 100, retries: 1 });
    hasty.gateway.script('hang', 'hang');
    await assert.rejects(hasty.store.plants.page(), {
      name: 'PlantStoreError',
      status: undefined,
      message: /within 100 ms/,
    });
  });

  test('a signal ends a request, the wait between two, and is checked before the first', async (t) => {
    const answered = Promise.withResolvers<void>();
    const { gateway, store, asked } = await setUp(t, {
      async fetch(...request) {
        const answer = await fetch(...request);
        const body = await answer.text();
        answered.resolve();
        return new Response(body, answer);
      },
    });
    const reason = new Error('gone home');
    for (const [reply, reached] of [
      ['hang', () => gateway.receive(1)],
      // With the whole answer at hand, the client waits in the next turn of the event loop.
      [failure(503, 50300, { 'retry-after': '60' }), () => answered.promise.then(() => turn())],
    ] as const) {
      const ending = new AbortController();
      gateway.script(reply);
      const page = store.plants.page({ signal: ending.signal });
      await reached();
      ending.abort(reason);
      await assert.rejects(page, reason);
    }
    await assert.rejects(store.plants.page({ signal: AbortSignal.abort(reason) }), reason);
    await assert.rejects(Array.fromAsync(store.plants.list({ signal: AbortSignal.abort(reason) })), reason);
    assert.equal(asked().length, 2);
  });

  test('a signal that outlives its calls keeps no listeners', async (t) => {
    const { gateway, store } = await setUp(t);
    const { signal } = new AbortController();
    gateway.script(failure(503, 50300));
    await store.plants.page({ signal });
    gateway.script(failure(404, 40402), {
      status: 404,
      body: '{"error":40400,"message":"Nothing is here."}',
    });
    await assert.rejects(store.webhooks.get('wh_none', { signal }), { error: 40402 });
    await assert.rejects(store.events.stream({ signal }).next(), { error: 40400 });
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  });

  test('a delete whose answer was cut off counts as done when the retry finds no plant', async (t) => {
    const { gateway, store } = await setUp(t);
    const { id } = await store.plants.create({ name: 'Alder' });
    gateway.script(gateway.cut());
    await store.plants.delete(id);
    assert.deepEqual(await Array.fromAsync(store.plants.list()), []);
  });

  test('a delete whose outcome was unknown counts as done when the retry finds nothing to delete', async (t) => {
    const { gateway, store } = await setUp(t);
    gateway.script(failure(503, 50301), failure(404, 40401));
    await store.plants.delete(7);
    gateway.script(failure(503, 50301), failure(404, 40402));
    await store.webhooks.delete('wh_7');
    gateway.script(failure(503, 50301), failure(404, 40404));
    await store.tokens.revoke('tok_7');
  });

  test('a delete that did nothing the first time still reports that the plant is not found', async (t) => {
    const { gateway, store } = await setUp(t);
    gateway.script(failure(503, 50300), failure(429, 42900));
    await assert.rejects(store.plants.delete(7), { error: 40401 });
  });

  test('a delete that reached no service at first still reports that the plant is not found', async (t) => {
    const down = await startGateway(service);
    await down.stop();
    const urls = [`${down.url}/plants/7`];
    const { store } = await setUp(t, { fetch: (url, init) => fetch(urls.shift() ?? url, init) });
    await assert.rejects(store.plants.delete(7), { error: 40401 });
    assert.deepEqual(urls, []);
  });

  for (const [code, mayBe] of [
    ['ECONNREFUSED', false],
    ['ENOTFOUND', false],
    ['EHOSTUNREACH', false],
    ['UND_ERR_CONNECT_TIMEOUT', false],
    ['CERT_HAS_EXPIRED', false],
    ['SELF_SIGNED_CERT_IN_CHAIN', false],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', false],
    ['ERR_TLS_CERT_ALTNAME_INVALID', false],
    ['ERR_SSL_WRONG_VERSION_NUMBER', false],
    ['ECONNRESET', true],
    ['ETIMEDOUT', true],
    ['UND_ERR_HEADERS_TIMEOUT', true],
    ['UND_ERR_SOCKET', true],
  ] as const) {
    test(`after ${code} a request ${mayBe ? 'may' : 'cannot'} have taken effect`, () => {
      // `fetch` keeps the reason in the cause; `undici` throws it.
      const reason = Object.assign(new Error('x'), { code });
      for (const cause of [reason, new TypeError('fetch failed', { cause: reason })]) {
        assert.equal(mayBeDone(new PlantStoreError('x', { cause })), mayBe);
      }
    });
  }

  test('a create to a port that fetch refuses cannot have taken effect', async (t) => {
    const { store } = await setUp(t, { url: 'http://127.0.0.1:1', retries: 0 });
    await assert.rejects(store.plants.create({ name: 'Alder' }), (error) => {
      assert.ok(error instanceof PlantStoreError);
      return !mayBeDone(error);
    });
  });

  test('a lost answer to another operation does not make "not found" a success', async (t) => {
    const { gateway, store } = await setUp(t);
    gateway.script('reset');
    await assert.rejects(store.webhooks.get('wh_none'), { error: 40402 });
  });

  test('a list with a broken page has every plant once', async (t) => {
    const { gateway, store } = await setUp(t);
    for (const name of ['A', 'B', 'C', 'D', 'E']) await store.plants.create({ name });
    gateway.script(gateway.cut(10));
    const names: string[] = [];
    for await (const { name } of store.plants.list({ pageSize: 2 })) {
      names.push(name);
      gateway.script(gateway.cut(3));
      await store.plants.page({ limit: 1 });
    }
    assert.deepEqual(names, ['A', 'B', 'C', 'D', 'E']);
  });

  test('an answer that no plant store gives is reported as such and not retried', async (t) => {
    const { gateway, store, asked } = await setUp(t);
    gateway.script({ status: 200, body: '<h1>Hello</h1>' });
    await assert.rejects(store.plants.page(), {
      error: undefined,
      status: 200,
      message: /not as a plant store/,
    });
    assert.equal(asked().length, 1);
  });

  for (const [where, placeOf, named] of [
    [
      'the same path elsewhere',
      (path: string) => `https://plants.example/b${path}`,
      'to https://plants.example/b',
    ],
    ['another page', () => '/login', 'to /login'],
    ['no place', () => undefined, 'elsewhere'],
  ] as const) {
    test(`the token does not follow a redirect to ${where}, and the error names the target`, async (t) => {
      const { gateway, store, asked } = await setUp(t);
      gateway.script(({ path }, response) => {
        const location = placeOf(path);
        response.writeHead(307, location === undefined ? {} : { location }).end();
      });
      await assert.rejects(store.plants.page(), {
        error: undefined,
        status: 307,
        message: `${gateway.url} redirects ${named}: use that as url if it is the service.`,
      });
      assert.equal(asked().length, 1);
    });
  }

  test('a redirect whose status a browser hides still counts as one', async () => {
    let asked = 0;
    // All that a script in a browser sees: no status, no headers.
    const fetch = async () => {
      asked++;
      return Response.error();
    };
    const failure = { status: 0, message: /redirects elsewhere/ };
    const store = new PlantStore({ url: 'http://plants.example', token: 'none', fetch });
    await assert.rejects(store.plants.page(), failure);
    assert.equal(asked, 1);
    const once = new PlantStore({ url: 'http://plants.example', token: 'none', fetch, retries: 0 });
    await assert.rejects(once.events.stream().next(), failure);
    assert.equal(asked, 2);
  });
});
