import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { MessagePort, Worker } from 'node:worker_threads';
import { AppError } from '../../src/errors.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import { flat, NOTHING } from '../../src/sender/messages.ts';
import { startSending } from '../../src/sender/supervisor.ts';
import { openConnection } from '../../src/store/sqlite/engine/connection.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { newKeyPair, newSecret } from '../../src/webhooks/sending/signature.ts';
import { type Receiver, startReceiver } from '../../testkit/receivers/receiver.ts';
import { eventually } from '../../testkit/service/eventually.ts';
import { eventsIn } from '../../testkit/service/owner.ts';
import { makeStoreDatabase, openStoreIn } from '../../testkit/stores/postgres.ts';

const { ids, clock, random } = systemRuntime(silentLog);

/** The lease of a dead thread takes 10 s to end. */
const SETTLED_MS = 60_000;

const threads: Worker[] = [];
process.on('worker', (worker) => threads.push(worker));

type Opened = {
  store: Omit<Awaited<ReturnType<typeof openSqliteStore>>, 'latestEvent'>;
  /** Of the embedded store. */
  path: string;
  drop(): Promise<void>;
};

async function onSqlite(): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  const path = join(folder, 'store.db');
  const onFatal = assert.ifError;
  const store = await openSqliteStore({ path, writer: 'thread', clock, deliveryDelayMs: 0, onFatal });
  return { store, path, drop: () => rm(folder, { recursive: true }) };
}

async function onPostgres(): Promise<Opened> {
  const { url, drop } = await makeStoreDatabase();
  return { store: await openStoreIn(url), path: '', drop };
}

type Setting = { nameServers?: string[]; lanesOf?(store: Opened['store']): Opened['store']['lanes'] };

/** A store with a user whose webhook points to a receiver, and the sender thread. */
async function sending(t: TestContext, open = onSqlite, { nameServers = [], lanesOf }: Setting = {}) {
  const receiver = await startReceiver();
  const { store, path, drop } = await open();
  const user = await store.access.createUser({ name: 'ann', at: clock.now() });
  assert.ok(user);
  const owner = user.id;
  const errors: string[] = [];
  const warned: { err?: { code?: unknown } }[] = [];
  // The writer thread starts before.
  await setImmediate();
  threads.length = 0;
  const sender = startSending({
    settings: {
      networks: '127.0.0.0/8',
      nameServers,
      version: '1.2.3',
      publicUrl: 'https://plants.example',
      schedule: [0, 1_000],
      disableAfterMs: 1e9,
      concurrency: 16,
      logsDebug: false,
      isMeasured: false,
      traces: undefined,
    },
    lanes: lanesOf?.(store) ?? store.lanes,
    wasKilled: false,
    log: {
      ...silentLog,
      warn: (context) => void warned.push(context),
      error: (_, message) => void errors.push(message),
    },
    measures: undefined,
  });
  t.after(async () => {
    await sender.stop();
    await receiver.stop();
    await store.close();
    await drop();
  });

  async function subscribe({ url }: Pick<Receiver, 'url'> = receiver): Promise<string> {
    const id = ids.next('wh');
    const keys = { secrets: [newSecret(random)], ...newKeyPair(random) };
    const shown = { url, description: undefined, rate: undefined, createdAt: clock.now() };
    await store.webhooks.createWebhook({ id, owner, ...shown, ...keys }, 10);
    return id;
  }

  /** Returns the ids of the events. */
  async function create(count: number): Promise<string[]> {
    const events = Array.from({ length: count }, () => ids.next('evt'));
    const plant = { owner, id: undefined, name: 'Alder', tag: undefined, at: clock.now() };
    await Promise.all(events.map((event) => store.plants.create({ ...plant, event })));
    return events;
  }

  async function settled(webhook: string): Promise<void> {
    await eventually(
      'end of the deliveries',
      async () => ((await store.deliveries.health(webhook)).waiting === 0 ? true : undefined),
      SETTLED_MS,
    );
  }
  return { store, path, receiver, sender, errors, warned, subscribe, create, settled };
}

test('the thread starts with the first work, and ends with the stop', async (t) => {
  const { store, receiver, sender, subscribe, create, settled } = await sending(t);
  await create(3);
  await setImmediate();
  assert.equal(threads.length, 0);
  assert.deepEqual(await sender.reading(), NOTHING);
  const webhook = await subscribe();
  const events = await create(3);
  await receiver.receive(3);
  await settled(webhook);
  assert.deepEqual(eventsIn(receiver.received).toSorted(), events);
  assert.equal(threads.length, 1);
  await sender.stop();
  assert.equal(threads[0]?.threadId, -1);
  // Later work waits for the next start.
  await create(1);
  assert.equal((await store.deliveries.health(webhook)).waiting, 1);
  assert.equal(threads.length, 1);
});

test('the thread reports the state of the lanes', async (t) => {
  const { receiver, sender, subscribe, create } = await sending(t);
  receiver.usually('hang');
  await subscribe();
  await create(2);
  await receiver.receive(2);
  assert.deepEqual(await sender.reading(), { ...NOTHING, underWay: 2 });
});

test('a dead thread is replaced, and what it was sending is resent', (t) => replaced(t, onSqlite));

test('the same on PostgreSQL, when the lease of the dead thread has ended', (t) => replaced(t, onPostgres));

async function replaced(t: TestContext, open: typeof onSqlite): Promise<void> {
  const { receiver, subscribe, create, settled, errors, sender } = await sending(t, open);
  receiver.script('hang', 'hang');
  const webhook = await subscribe();
  const events = await create(2);
  await receiver.receive(2);
  const asked = sender.reading();
  await threads[0]?.terminate();
  assert.ok(await asked);
  await settled(webhook);
  assert.deepEqual(eventsIn(receiver.received).toSorted(), [...events, ...events].toSorted());
  assert.deepEqual(errors, ['the sender thread failed; starting another one']);
  assert.equal(threads.length, 2);
}

test('a thread that dies repeatedly under load loses nothing', async (t) => {
  const { receiver, subscribe, create, settled } = await sending(t);
  const webhook = await subscribe();
  const events: string[] = [];
  for (let round = 0; round < 3; round++) {
    const before = receiver.received.length;
    events.push(...(await create(100)));
    await receiver.receive(before + 20);
    await threads.at(-1)?.terminate();
  }
  await settled(webhook);
  assert.deepEqual([...new Set(eventsIn(receiver.received))].toSorted(), events);
});

test('a thread that cannot be started fails no request, and is tried again', async (t) => {
  let tries = 0;
  const { receiver, subscribe, create, settled, errors } = await sending(t, onSqlite, {
    lanesOf: ({ lanes }) => ({
      ...lanes,
      connect() {
        const source = lanes.connect();
        // The constructor of a worker throws, as it does where no more threads are allowed.
        return ++tries === 1 ? { ...source, port: {} as MessagePort } : source;
      },
    }),
  });
  const webhook = await subscribe();
  const events = await create(2);
  await settled(webhook);
  assert.deepEqual(eventsIn(receiver.received).toSorted(), events);
  assert.deepEqual([tries, threads.length], [2, 1]);
  assert.deepEqual(errors, ['the sender thread failed; starting another one']);
});

test('an error that the thread logs keeps its code', async (t) => {
  const { path, warned, subscribe, create, settled } = await sending(t);
  const webhook = await subscribe();
  await create(1);
  await settled(webhook);
  const db = openConnection(path);
  db.exec('ALTER TABLE deliveries RENAME TO renamed');
  db.close();
  const { err } = await eventually('warning', async () => warned[0]);
  assert.equal(err?.code, 'ERR_SQLITE_ERROR');
});

test('an error passes between threads with its code, and those of its causes', () => {
  const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', client: () => {} });
  const error = new AppError(50302, 'not now', { cause });
  const { name, message, stack } = error;
  assert.deepEqual(structuredClone(flat(error)), {
    ...{ constructor: undefined, name, message, stack, code: 50302 },
    cause: {
      ...{ constructor: undefined, name: 'Error', message: 'refused', stack: cause.stack },
      ...{ code: 'ECONNREFUSED', cause: undefined },
    },
  });
});

test('a change during a request applies to the next one', async (t) => {
  const { store, receiver, subscribe, create } = await sending(t);
  const other = await startReceiver();
  t.after(other.stop);
  const answers: (() => void)[] = [];
  receiver.usually((_, response) => answers.push(() => response.writeHead(204).end()));
  const webhook = await subscribe();
  const [user] = await store.access.users();
  assert.ok(user);
  await create(40);
  await receiver.receive(16);
  await store.webhooks.changeWebhook(user.id, webhook, { at: clock.now(), url: other.url });
  for (const answer of answers) answer();
  await other.receive(24);
  assert.equal(receiver.received.length, 16);
});

test('a stop does not wait for a hanging lookup', async (t) => {
  const silent = createSocket('udp4').bind(0, '127.0.0.1');
  t.after(() => silent.close());
  await once(silent, 'listening');
  const { sender, subscribe, create } = await sending(t, onSqlite, {
    nameServers: [`127.0.0.1:${silent.address().port}`],
  });
  await subscribe({ url: 'https://a.name.that.is.looked.up.example/' });
  const asked = once(silent, 'message');
  await create(1);
  await asked;
  await sender.stop();
});

test('the thread yields to the others', { skip: process.platform !== 'linux' }, async (t) => {
  const { receiver, subscribe, create } = await sending(t);
  await subscribe();
  await create(1);
  await receiver.receive(1);
  // The 19th field of each thread, after its name in parentheses (proc(5)).
  const priorities = readdirSync('/proc/self/task').map((thread) => {
    const fields = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(fields[16]);
  });
  assert.ok(priorities.filter((nice) => nice !== getPriority()).every((nice) => nice === 10));
  assert.ok(priorities.includes(10));
});
