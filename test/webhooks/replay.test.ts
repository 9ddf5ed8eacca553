import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { storePath } from '../../src/config.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { type Receiver, type Reply, startReceiver } from '../harness/receiver.ts';
import { type Service, startService } from '../harness/service.ts';
import { eventsIn, type Owner, ownerOf, until } from './owner.ts';

/** A replay is durable, and each of its deliveries is retried like a new one. */

let dataDir: string;
let service: Service;
let owner: Owner;
const receivers: Receiver[] = [];

before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'plant-store-'));
  await start();
});
after(async () => {
  for (const receiver of receivers) await receiver.stop();
  await service.stop();
  await rm(dataDir, { recursive: true });
});

/** Starts the service on the data that it left. */
async function start(): Promise<void> {
  service = await startService({
    DATA_DIR: dataDir,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_RETRY_SCHEDULE: '0s,20ms',
  });
  owner = ownerOf(service, service.token);
}

async function newReceiver(answer: Reply = { status: 204 }, port?: number): Promise<Receiver> {
  const receiver = await startReceiver(port);
  receivers.push(receiver);
  receiver.usually(answer);
  return receiver;
}

/** Adds plants beside the service: quicker than by requests. */
async function addPlants(count: number): Promise<void> {
  const { ids, clock } = systemRuntime(silentLog);
  await withStore(async (store) => {
    const [admin] = await store.access.users();
    assert.ok(admin);
    const added = Array.from({ length: count }, (_, i) => {
      const plant = { owner: admin.id, id: undefined, name: `Plant ${i}`, tag: undefined };
      return store.plants.create({ ...plant, event: ids.next('evt'), at: clock.now() });
    });
    await Promise.all(added);
  });
}

/** Resolves when no replay is left to go on with. */
function untilReplayed(): Promise<void> {
  return withStore(async ({ chores }) => {
    await until(async () => ((await chores.hasChores()) ? undefined : true));
  });
}

async function withStore(work: (store: Store) => Promise<void>): Promise<void> {
  const path = storePath(dataDir);
  const clock = { now: Date.now };
  const onFatal = assert.ifError;
  const store = await openSqliteStore({ path, writer: 'inline', clock, deliveryDelayMs: 0, onFatal });
  await work(store);
  await store.close();
}

test('a replay that the service is stopped in the middle of goes on, and every event arrives', async () => {
  await service.stop();
  await addPlants(2000);
  await start();
  const events = await owner.events();
  const receiver = await newReceiver();
  const webhook = await owner.subscribe(receiver);
  assert.equal(await owner.replay(webhook), events.length);
  await service.stop();

  await start();
  await receiver.receive(1);
  await service.stop();
  assert.ok(receiver.received.length < events.length, 'the replay was over before it was stopped');

  await start();
  const missing = new Set(events);
  for (let seen = 0; missing.size > 0; seen++) {
    const [event] = eventsIn((await receiver.receive(seen + 1)).slice(seen));
    missing.delete(event ?? '');
  }
  await owner.settled(webhook);
});

test('after a receiver was down for the whole schedule a replay brings every event, and retries what fails', async () => {
  const { port } = await newReceiver();
  await receivers.at(-1)?.stop();
  const webhook = await owner.subscribe({ url: `http://127.0.0.1:${port}/hook` });
  await owner.create(3);
  const { failed } = await owner.settled(webhook);
  assert.equal(failed, 3);

  const receiver = await newReceiver({ status: 204 }, port);
  receiver.script({ status: 500 });
  assert.equal(await owner.replay(webhook, 'failed'), 3);
  const attempts = await receiver.receive(4);
  const [first = ''] = eventsIn(attempts);
  assert.deepEqual(new Set(eventsIn(attempts)), new Set((await owner.events()).slice(-3)));
  assert.equal((await owner.settled(webhook)).failed, 0);
  const { history } = await owner.delivery(webhook, first);
  assert.deepEqual(
    history.map(({ status }) => status),
    [undefined, undefined, 500, 204],
  );
});

test('a delivery whose last attempt is under way when a replay is asked for is sent again when that fails', async () => {
  const fail = Promise.withResolvers<void>();
  const receiver = await newReceiver();
  receiver.script({ status: 500 }, (_, response) => {
    fail.promise.then(() => response.writeHead(500).end());
  });
  const webhook = await owner.subscribe(receiver);
  await owner.create(1);
  await receiver.receive(2);
  assert.equal(await owner.replay(webhook, 'pending'), 1);
  await untilReplayed();
  fail.resolve();
  const { failed } = await owner.settled(webhook);
  assert.equal(failed, 0);
  assert.equal(receiver.received.length, 3);
});

test('deliveries that are under way while their webhook is being enabled are sent once', async () => {
  const receiver = await newReceiver();
  const held: ServerResponse[] = [];
  receiver.usually((_, response) => void held.push(response));
  const webhook = await owner.subscribe(receiver);
  await owner.enable(webhook, false);
  await owner.create(3);
  await owner.enable(webhook, true);
  await receiver.receive(3);
  // Enabling makes due, a little later, what waits for its next attempt.
  await untilReplayed();
  receiver.usually({ status: 204 });
  for (const response of held) response.writeHead(204).end();
  await owner.settled(webhook);
  assert.deepEqual(eventsIn(receiver.received).toSorted(), (await owner.events()).slice(-3));
});
