import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Caller, KeptAnswer, Once } from '../../../src/idempotency/port.ts';
import { deliveriesTo } from '../../../testkit/stores/deliveries.ts';
import { AT, type Given } from '../../../testkit/stores/given.ts';

export function keysConformance(ready: () => Given): void {
  const answer: KeptAnswer = { status: 201, location: '/plants/', body: '{"name":"Alder"}' };

  function once(user: number, more: Partial<Once> = {}): Once {
    return {
      user,
      method: 'POST',
      path: '/plants',
      key: 'k',
      fingerprint: 'f',
      at: AT,
      expiresAt: AT + 100,
      answer: { ...answer, appendsId: true },
      ...more,
    };
  }

  const callerWith = (request: Once): Caller => ({ user: request.user, hasLeft: () => false, once: request });
  const kept = (request: Once, now = AT) => ready().store.keys.keptAnswer(request, now);

  describe('idempotency keys', () => {
    test('the answer to a create is stored with the plant, including its assigned id', async () => {
      const { store, user, plant } = ready();
      const { id } = await user();
      const request = once(id);
      assert.equal(await kept(request), undefined);
      const made = await store.plants.create(plant(id), callerWith(request));
      assert.equal(made, 1n);
      assert.deepEqual(await kept(request), { fingerprint: 'f', ...answer, location: '/plants/1' });
    });

    test('a complete location is stored unchanged', async () => {
      const { store, user, plant } = ready();
      const { id } = await user();
      for (const [n, location] of ['/plants/9', '/plants/'].entries()) {
        const request = once(id, { key: `${n}`, answer: { ...answer, location } });
        await store.plants.create(plant(id, { id: BigInt(n) }), callerWith(request));
        assert.equal((await kept(request))?.location, location);
      }
    });

    test('a write under a recorded key changes nothing', async () => {
      const { store, user, plant, walk } = ready();
      const { id } = await user();
      const tries = Array.from({ length: 5 }, () => store.plants.create(plant(id), callerWith(once(id))));
      const outcomes = await Promise.allSettled(tries);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 40901);
      }
      assert.deepEqual(await walk(id, 10), [1n]);
      const page = await store.events.events({ viewer: id, after: undefined, limit: 10 });
      assert.equal(page?.events.length, 1);
    });

    test('a write without effect leaves no record', async () => {
      const { store, user, plant, create } = ready();
      const { id } = await user();
      await create(id, 7n);
      const request = once(id);
      assert.equal(await store.plants.create(plant(id, { id: 7n }), callerWith(request)), 'taken');
      assert.equal(await kept(request), undefined);
    });

    test('an answer without an effect is stored alone, and the first one stays', async () => {
      const { store, user } = ready();
      const request = once((await user()).id, { answer: { status: 409, location: undefined, body: '{}' } });
      await store.keys.keepAnswer(request);
      await assert.rejects(store.keys.keepAnswer({ ...request, fingerprint: 'g' }), { code: 40901 });
      assert.deepEqual(await kept(request), { fingerprint: 'f', ...request.answer });
    });

    test('of such answers that arrive together the first of each key is stored', async () => {
      const { store, user } = ready();
      const { id } = await user();
      const requests = ['k', 'l', 'k', 'm', 'l'].map((key, n) =>
        once(id, { key, fingerprint: `${n}`, answer: { status: 409, location: undefined, body: '{}' } }),
      );
      const outcomes = await Promise.allSettled(requests.map(store.keys.keepAnswer));
      const codes = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 0));
      assert.deepEqual(codes, [0, 0, 40901, 0, 40901]);
      for (const n of [0, 1, 3]) assert.equal((await kept(once(id, requests[n])))?.fingerprint, `${n}`);
    });

    test('a key belongs to its user, method and path', async () => {
      const { store, user } = ready();
      const request = once((await user()).id);
      await store.keys.keepAnswer(request);
      const other = { user: (await user()).id, method: 'PUT', path: '/webhooks', key: 'l' };
      for (const [name, value] of Object.entries(other)) {
        assert.equal(await kept({ ...request, [name]: value }), undefined);
      }
    });

    test('a record expires, and the key can be used again', async () => {
      const { store, user, plant, walk } = ready();
      const { id } = await user();
      await store.plants.create(plant(id), callerWith(once(id)));
      assert.equal(await kept(once(id), AT + 100), undefined);
      const later = once(id, { at: AT + 100, expiresAt: AT + 200, fingerprint: 'g' });
      await store.plants.create(plant(id), callerWith(later));
      assert.deepEqual(await walk(id, 10), [1n, 2n]);
      assert.equal((await kept(later, AT + 150))?.fingerprint, 'g');
    });

    test('expired records are removed', async () => {
      const { store, user, finishChores } = ready();
      const { id } = await user();
      for (let n = 0; n < 8; n++) await store.keys.keepAnswer(once(id, { key: `k${n}` }));
      assert.equal(await store.chores.hasChores(AT + 100), true);
      await finishChores(AT + 100);
      assert.equal(await kept(once(id, { key: 'k3' })), undefined);
    });

    test('every write of a POST stores its answer if it had an effect', async () => {
      const { store, ids } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const [delivery] = await deliveriesTo(store, { owner, id: hook });
      assert.ok(delivery);
      const event = { ...delivery.event, id: ids.next('evt'), type: 'plant.test' } as const;
      const rotation = { secret: 'whsec_y', at: AT, overlapUntil: AT + 1, most: 5 };
      const request = { owner, webhook: hook, from: 'evt_', state: undefined };
      const created = {
        ...{
          id: ids.next('wh'),
          owner,
          url: 'https://example.com/',
          description: undefined,
          rate: undefined,
        },
        ...{ publicKey: 'p', privateKey: 'q', secrets: ['s'], createdAt: AT },
      };
      const writes: Record<string, (caller: Caller) => Promise<unknown>> = {
        create: (caller) => store.webhooks.createWebhook(created, 10, caller),
        rotate: (caller) => store.webhooks.rotateSecret(owner, hook, rotation, caller),
        test: (caller) => store.deliveries.createTest({ owner, webhook: hook, event, due: AT }, caller),
        redeliver: (caller) =>
          store.deliveries.redeliver({ owner, webhook: hook, event: delivery.event.id, at: AT }, caller),
        replay: (caller) => store.deliveries.startReplay(request, 10, caller),
      };
      for (const [key, write] of Object.entries(writes)) {
        const keyed = once(owner, { key, answer: { status: 200, location: undefined, body: key } });
        await write(callerWith(keyed));
        assert.equal((await kept(keyed))?.body, key);
        await assert.rejects(write(callerWith(keyed)), { code: 40901 });
      }
    });
  });
}
