import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { silentLog, systemRuntime } from '../../../src/runtime.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { deliver, type Runner } from '../../../src/webhooks/delivery/deliver.ts';
import type { LaneStore } from '../../../src/webhooks/delivery/port.ts';
import { soleOwner } from '../../../src/webhooks/delivery/sole-owner.ts';
import { newKeyPair, newSecret } from '../../../src/webhooks/sending/signature.ts';
import { type Receiver, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { senderWith } from '../../../testkit/receivers/sending.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { eventsIn, ownerOf } from '../../../testkit/service/owner.ts';
import { startService } from '../../../testkit/service/service.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';

const runtime = systemRuntime(silentLog);
const { ids, clock, random } = runtime;

const ENV = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_RETRY_SCHEDULE: '0s,20ms,1h' };

// Each has its own service or store, and waits for a second.
describe('a receiver that requests a pause', { concurrency: true }, () => {
  test('Retry-After pauses the whole webhook, no other, and a restart does not end the pause', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'plant-store-'));
    const env = { ...ENV, DATA_DIR: dataDir };
    let running = await startService(env);
    t.after(async () => {
      await running.stop();
      await rm(dataDir, { recursive: true });
    });
    const before = ownerOf(running, running.token);
    const [busy, other] = [await newReceiver(t), await newReceiver(t)];
    busy.script({ status: 503, headers: { 'retry-after': '3600' } });
    const [webhook] = [await before.subscribe(busy), await before.subscribe(other)];
    const asked = Date.now();
    await before.create(1);
    const { pausedUntil } = await eventually('pause', async () => {
      const shown = await before.webhook(webhook);
      return shown.pausedUntil === undefined ? undefined : shown;
    });
    const length = Date.parse(pausedUntil ?? '') - asked;
    assert.ok(length >= 3_600_000 && length < 3_610_000, `a pause of ${length} ms`);

    await running.stop();
    running = await startService(env);
    const owner = ownerOf(running, running.token);
    await owner.create(3);
    await other.receive(4);
    const paused = await owner.webhook(webhook);
    assert.deepEqual([paused.pausedUntil, paused.waiting], [pausedUntil, 4]);
    for (const { nextAttemptAt } of await owner.deliveries(webhook)) assert.equal(nextAttemptAt, pausedUntil);
    assert.equal(busy.received.length, 1);

    await owner.enable(webhook, false);
    await owner.enable(webhook, true);
    await owner.settled(webhook);
    assert.deepEqual(new Set(eventsIn(busy.received)), new Set(await owner.events()));
  });

  test('a pause ended by the owner is over for the delivery whose answer requested it, too', async (t) => {
    const receiver = await newReceiver(t);
    const service = await startService(ENV);
    t.after(service.stop);
    receiver.script({ status: 503, headers: { 'retry-after': '3600' } });
    const owner = ownerOf(service, service.token);
    const webhook = await owner.subscribe(receiver);
    await owner.create(1);
    await eventually('pause', async () => (await owner.webhook(webhook)).pausedUntil);
    await owner.enable(webhook, true);
    const [{ nextAttemptAt = '' } = {}] = await owner.deliveries(webhook);
    assert.ok(nextAttemptAt < new Date(Date.now() + 60_000).toISOString(), `it waits until ${nextAttemptAt}`);
    await owner.settled(webhook);
  });

  test('deliveries read while a receiver requests a pause are not sent before its end', async (t) => {
    const { store, lanes, owner, receiver, deliverFrom } = await newSubscriber(t);
    const answer = Promise.withResolvers<ServerResponse>();
    receiver.script((_, response) => answer.resolve(response));
    const recorded = Promise.withResolvers<void>();
    const read = Promise.withResolvers<void>();
    deliverFrom({
      ...lanes,
      async read(request) {
        const found = await lanes.read(request);
        if (found.due.length < 2) return found;
        // With the second one: read before the answer arrived, and known after it.
        read.resolve();
        await recorded.promise;
        return found;
      },
      async record(outcomes) {
        const results = await lanes.record(outcomes);
        recorded.resolve();
        return results;
      },
    });

    const plant = { owner, id: undefined, name: 'Alder', tag: undefined };
    await store.plants.create({ ...plant, event: ids.next('evt'), at: clock.now() });
    const response = await answer.promise;
    await store.plants.create({ ...plant, event: ids.next('evt'), at: clock.now() });
    await read.promise;
    response.writeHead(503, { 'retry-after': '1' }).end();
    const asked = Date.now();
    const [, next] = await receiver.receive(2);
    assert.ok(next && next.at - asked >= 900, `it was sent ${next && next.at - asked} ms later`);
  });
});

async function newReceiver(t: TestContext): Promise<Receiver> {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  return receiver;
}

/** A store with a user and a webhook; `deliverFrom` starts delivery. */
async function newSubscriber(t: TestContext) {
  const receiver = await startReceiver();
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  const path = join(folder, 'store.db');
  const onFatal = assert.ifError;
  const store = await openSqliteStore({ path, writer: 'thread', clock, deliveryDelayMs: 0, onFatal });
  const { store: lanes, close } = await lanesOf(store);
  const running: Runner[] = [];
  t.after(async () => {
    for (const runner of running) await runner.stop();
    await receiver.stop();
    await close();
    await store.close();
    await rm(folder, { recursive: true });
  });
  const user = await store.access.createUser({ name: 'ann', at: clock.now() });
  assert.ok(user);
  const keys = { secrets: [newSecret(random)], ...newKeyPair(random) };
  const shown = { url: receiver.url, description: undefined, rate: undefined, createdAt: clock.now() };
  await store.webhooks.createWebhook({ id: ids.next('wh'), owner: user.id, ...shown, ...keys }, 1);
  const deliverFrom = (from: LaneStore): void => void running.push(start(from));
  return { store, lanes, owner: user.id, receiver, deliverFrom };
}

function start(lanes: LaneStore): Runner {
  return deliver({
    store: lanes,
    owners: soleOwner(lanes, false),
    sender: senderWith(),
    schedule: [0, 1_000],
    disableAfterMs: 1e9,
    concurrency: 16,
    runtime,
  });
}
