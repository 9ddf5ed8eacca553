import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import {
  PlantStore,
  type PlantStoreError,
  type PlantStoreOptions,
} from '../../packages/client/src/client.ts';
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

const never = () => new Promise<never>(() => {});
const reason = new Error('gone home');

async function clientOf(t: TestContext, options: Partial<PlantStoreOptions> = {}) {
  const token = await service.tokenFor(t.name);
  return new PlantStore({ url: gateway.url, token, retries: 0, ...options });
}

for (const [what, options] of [
  ['a token', { token: never }],
  ['a fetch of its own', { fetch: never }],
] as const) {
  suite(`a call that waits forever for ${what}`, () => {
    test('is ended by timeoutMs', async (t) => {
      const store = await clientOf(t, { ...options, timeoutMs: 50 });
      await assert.rejects(store.plants.page(), { name: 'PlantStoreError', message: /within 50 ms/ });
    });

    test('is ended by its signal', async (t) => {
      const store = await clientOf(t, options);
      const ending = new AbortController();
      const page = store.plants.page({ signal: ending.signal });
      setImmediate(() => ending.abort(reason));
      await assert.rejects(page, reason);
    });

    test('is ended as a stream too', async (t) => {
      const store = await clientOf(t, { ...options, timeoutMs: 50 });
      const ending = new AbortController();
      const errors: PlantStoreError[] = [];
      const onError = (error: PlantStoreError) => {
        errors.push(error);
        ending.abort();
      };
      assert.deepEqual(await Array.fromAsync(store.events.stream({ signal: ending.signal, onError })), []);
      assert.match(errors[0]?.message ?? '', /silent for 0.05 s/);
    });
  });
}

test('a call aborted while it waits for its token sends nothing when the token arrives', async (t) => {
  const token = Promise.withResolvers<string>();
  const sent: string[] = [];
  const store = await clientOf(t, {
    token: () => token.promise,
    fetch: (url) => {
      sent.push(url);
      return never();
    },
  });
  const ending = new AbortController();
  const create = store.plants.create({ name: 'Alder' }, { signal: ending.signal });
  setImmediate(() => ending.abort(reason));
  await assert.rejects(create, reason);
  token.resolve('late');
  await new Promise(setImmediate);
  assert.deepEqual(sent, []);
});

test('timeoutMs: Infinity never ends a call', async (t) => {
  const store = await clientOf(t, { timeoutMs: Infinity });
  assert.deepEqual(await store.plants.page(), { items: [], next: undefined });
});

test("Retry-After beyond a timer's maximum makes a stream wait instead of retrying at once", async (t) => {
  const store = await clientOf(t);
  const timers = t.mock.method(globalThis, 'setTimeout');
  gateway.script({ status: 503, headers: { 'retry-after': '3000000' } });
  const ending = new AbortController();
  const stream = store.events.stream({
    signal: ending.signal,
    onError(error) {
      assert.equal(error.retryAfter, 3_000_000);
      setImmediate(() => ending.abort());
    },
  });
  assert.deepEqual(await Array.fromAsync(stream), []);
  const pauses = timers.mock.calls.map(({ arguments: [, ms = 0] }) => ms);
  assert.equal(Math.max(...pauses), 2 ** 31 - 1);
});
