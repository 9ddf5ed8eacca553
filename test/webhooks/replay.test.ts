import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import { type Receiver, startReceiver } from '../../testkit/receivers/receiver.ts';
import { eventually } from '../../testkit/service/eventually.ts';
import { eventsIn, ownerOf } from '../../testkit/service/owner.ts';
import { type Service, startService } from '../../testkit/service/service.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';
import { keptStore } from '../../testkit/stores/kept-store.ts';

const ENV = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_RETRY_SCHEDULE: '0s,20ms' };

// Each has its own service, and waits for it now and then.
describe('a replay', { concurrency: true }, () => {
  test('a replay interrupted by a stop continues, and every event arrives', async (t) => {
    const { settings, drop } = await keptStore();
    const env = { ...ENV, ...settings };
    const receiver = await startReceiver();
    let service = await startService(env);
    t.after(async () => {
      await Promise.all([receiver.stop(), service.stop()]);
      await drop();
    });
    await addPlants(service, 1200);
    const owner = ownerOf(service, service.token);
    const events = await owner.events();
    const webhook = await owner.subscribe(receiver);
    assert.equal(await owner.replay(webhook), 1200);
    await service.stop();

    service = await startService(env);
    await receiver.receive(1);
    await service.stop();
    assert.ok(receiver.received.length < 1200, 'the replay was over before it was stopped');

    service = await startService(env);
    const missing = new Set(events);
    for (let seen = 0; missing.size > 0; seen++) {
      const [event] = eventsIn((await receiver.receive(seen + 1)).slice(seen));
      missing.delete(event ?? '');
    }
    await ownerOf(service, service.token).settled(webhook);
  });

  test('after a receiver was down for the whole schedule every event arrives, and is retried', async (t) => {
    const { owner } = await newOwner(t);
    const gone = await newReceiver(t, await freePort());
    await gone.stop();
    const webhook = await owner.subscribe(gone);
    await owner.create(3);
    assert.equal((await owner.settled(webhook)).failed, 3);

    const receiver = await newReceiver(t, gone.port);
    receiver.script({ status: 500 });
    assert.equal(await owner.replay(webhook, 'failed'), 3);
    const attempts = eventsIn(await receiver.receive(4));
    assert.deepEqual(new Set(attempts), new Set(await owner.events()));
    assert.equal((await owner.settled(webhook)).failed, 0);
    const { history } = await owner.delivery(webhook, attempts[0] ?? '');
    assert.deepEqual(
      history.map(({ status }) => status),
      [undefined, undefined, 500, 204],
    );
  });

  for (const [schedule, attempts] of [
    ['0s,20ms', 2],
    ['0s', 1],
  ] as const) {
    test(`a delivery whose last attempt of ${attempts} is running is resent when that fails`, async (t) => {
      const { service, owner } = await newOwner(t, schedule);
      const receiver = await newReceiver(t);
      const last = Promise.withResolvers<ServerResponse>();
      if (attempts > 1) receiver.script({ status: 500 });
      receiver.script((_, response) => last.resolve(response));
      const webhook = await owner.subscribe(receiver);
      await owner.create(1);
      const response = await last.promise;
      assert.equal(await owner.replay(webhook, 'pending'), 1);
      await untilReplayed(service);
      response.writeHead(500).end();
      assert.equal((await owner.settled(webhook)).failed, 0);
      assert.equal(receiver.received.length, attempts + 1);
    });
  }

  test('deliveries being sent while their webhook is enabled are sent once', async (t) => {
    const { service, owner } = await newOwner(t);
    const receiver = await newReceiver(t);
    const held: ServerResponse[] = [];
    receiver.usually((_, response) => void held.push(response));
    const webhook = await owner.subscribe(receiver);
    await owner.enable(webhook, false);
    await owner.create(3);
    await owner.enable(webhook, true);
    await receiver.receive(3);
    // A little later, enabling makes due what waits for its next attempt.
    await untilReplayed(service);
    receiver.usually({ status: 204 });
    for (const response of held) response.writeHead(204).end();
    await owner.settled(webhook);
    assert.deepEqual(eventsIn(receiver.received).toSorted(), await owner.events());
  });
});

async function newOwner(t: TestContext, schedule: string = ENV.WEBHOOK_RETRY_SCHEDULE) {
  const service = await startService({ ...ENV, WEBHOOK_RETRY_SCHEDULE: schedule });
  t.after(service.stop);
  return { service, owner: ownerOf(service, service.token) };
}

async function newReceiver(t: TestContext, port?: number): Promise<Receiver> {
  const receiver = await startReceiver(port);
  t.after(receiver.stop);
  return receiver;
}

/** Adds plants of the first user directly: faster than by requests. */
function addPlants(service: Service, count: number): Promise<void> {
  return service.beside(async ({ store, runtime: { ids, clock } }) => {
    const [admin] = await store.access.users();
    assert.ok(admin);
    const added = Array.from({ length: count }, (_, i) => {
      const plant = { owner: admin.id, id: undefined, name: `Plant ${i}`, tag: undefined };
      return store.plants.create({ ...plant, event: ids.next('evt'), at: clock.now() });
    });
    await Promise.all(added);
  });
}

/** Resolves when no replay is left. */
function untilReplayed(service: Service): Promise<true> {
  return service.beside(({ store: { chores } }) =>
    eventually('end of the replay', async () => ((await chores.hasChores(Date.now())) ? undefined : true)),
  );
}
