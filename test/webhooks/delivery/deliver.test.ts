import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { after, before, type TestContext, test } from 'node:test';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { AppError } from '../../../src/errors.ts';
import { delivery as limits } from '../../../src/limits.ts';
import type { EndedBatch } from '../../../src/observability/port.ts';
import { type Clock, silentLog, systemRuntime } from '../../../src/runtime.ts';
import type { Store } from '../../../src/store/store.ts';
import { type DeliverOptions, deliver, type Runner } from '../../../src/webhooks/delivery/deliver.ts';
import type { LaneStore, Outcome, Recorded } from '../../../src/webhooks/delivery/port.ts';
import { soleOwner } from '../../../src/webhooks/delivery/sole-owner.ts';
import { redeliver, testWebhook } from '../../../src/webhooks/delivery-operations.ts';
import { createWebhook } from '../../../src/webhooks/operations.ts';
import { parseNetworks } from '../../../src/webhooks/sending/addresses.ts';
import { NOT_SIGNED } from '../../../src/webhooks/sending/attempt.ts';
import { createResolve } from '../../../src/webhooks/sending/resolver.ts';
import { createSender, type Sender } from '../../../src/webhooks/sending/sender.ts';
import { newKeyPair, newSecret } from '../../../src/webhooks/sending/signature.ts';
import { createTarget } from '../../../src/webhooks/sending/target.ts';
import { type Received, type Receiver, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { deliveriesTo } from '../../../testkit/stores/deliveries.ts';
import { openTemporaryStore } from '../../../testkit/stores/temporary-store.ts';

const runtime = systemRuntime(silentLog);
const target = createTarget({ allowed: parseNetworks('127.0.0.0/8'), resolve: createResolve() });
let store: Store;
let storeLanes: LaneStore;
let drop: () => Promise<void>;
let senders: Sender[] = [];
let running: Runner[] = [];
let receivers: Receiver[] = [];

before(async () => {
  ({ store, lanes: storeLanes, drop } = await openTemporaryStore());
});
after(() => drop());

/** Stops what a test has started, and deletes its webhooks. */
async function clear(): Promise<void> {
  for (const runner of running) await runner.stop();
  for (const sender of senders) await sender.stop();
  for (const receiver of receivers) await receiver.stop();
  for (const { id } of await store.access.users()) {
    for (const webhook of await store.webhooks.webhooks(id))
      await store.webhooks.deleteWebhook(id, webhook.id);
  }
  running = [];
  senders = [];
  receivers = [];
}

async function newReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}

async function newOwner(): Promise<number> {
  const user = await store.access.createUser({ name: runtime.ids.next('tok'), at: 0 });
  assert.ok(user);
  return user.id;
}

function contextOf() {
  const { webhooks, deliveries, events } = store;
  return { webhooks, deliveries, events, runtime, target, deliveryDelayMs: 0 };
}

function subscribe(owner: number, { url }: { url: string }) {
  return createWebhook(contextOf(), owner, { url });
}

async function addPlants(owner: number, count: number): Promise<void> {
  const added = Array.from({ length: count }, (_, i) =>
    store.plants.create({
      owner,
      id: undefined,
      name: `Plant ${i}`,
      tag: undefined,
      event: runtime.ids.next('evt'),
      at: runtime.clock.now(),
    }),
  );
  await Promise.all(added);
}

type Setting = {
  schedule?: number[];
  disableAfterMs?: number;
  concurrency?: number;
  lanes?: Partial<LaneStore>;
  owners?: Partial<DeliverOptions['owners']>;
  bounds?: DeliverOptions['bounds'];
  measures?: DeliverOptions['measures'];
  wasKilled?: boolean;
  clock?: Clock;
};

/** Delivers from the real store, until the test ends; `outcomes` emits what was recorded. */
function start(
  t: TestContext,
  { schedule = [0, 20, 20], disableAfterMs = 1e9, concurrency = 16, ...setting }: Setting = {},
) {
  t.after(clear);
  const outcomes = new EventEmitter<{ recorded: [] }>();
  const recorded: Outcome[] = [];
  const lanes: LaneStore = {
    ...storeLanes,
    async record(batch) {
      const results = await storeLanes.record(batch);
      recorded.push(...batch.filter((_, n) => results[n] === 'settled' || results[n] === 'anew'));
      outcomes.emit('recorded');
      return results;
    },
    ...setting.lanes,
  };
  const parts = { target, clock: runtime.clock, version: '1.0.0', source: 'https://plants.example' };
  const sender = createSender(parts);
  senders.push(sender);
  const runner = deliver({
    store: lanes,
    owners: { ...soleOwner(lanes, setting.wasKilled ?? false), ...setting.owners },
    sender,
    schedule,
    disableAfterMs,
    concurrency,
    runtime: { ...runtime, clock: setting.clock ?? runtime.clock },
    measures: setting.measures,
    bounds: {
      storeRetryMs: { first: 5, most: 20 },
      probeMs: { first: 1, most: 4 },
      drainMs: 2000,
      ...setting.bounds,
    },
  });
  running.push(runner);

  async function ended(count: number): Promise<Outcome[]> {
    const over = () => recorded.filter(({ next }) => next.state !== 'pending');
    while (over().length < count) await once(outcomes, 'recorded');
    return over();
  }
  return { runner, recorded, ended };
}

/** State, attempts and reason of a webhook's only delivery. */
async function deliveryOf(webhook: { owner: number; id: string }) {
  const [delivery, ...more] = await deliveriesTo(store, webhook);
  assert.deepEqual(more, []);
  return [delivery?.state, delivery?.attempts, delivery?.reason];
}

function idsOf(received: readonly Received[]): string[] {
  return received.map(({ headers }) => String(headers['webhook-id']));
}

test('a new plant reaches its receiver, signed so that the public library accepts it', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  const { secret, webhook } = await subscribe(owner, receiver);
  const { ended } = start(t);
  await store.plants.create({
    owner,
    id: 9007199254740993n,
    name: 'Alder',
    tag: 'Alnus',
    event: runtime.ids.next('evt'),
    at: runtime.clock.now(),
  });
  await ended(1);
  assert.deepEqual(await deliveryOf(webhook), ['delivered', 1, undefined]);
  const [request] = receiver.received;
  assert.ok(request);
  const text = request.body.toString();
  assert.equal(text, '{"id":9007199254740993,"name":"Alder","tag":"Alnus"}');
  assert.equal(request.headers['ce-id'], request.headers['webhook-id']);
  assert.equal(request.headers['user-agent'], 'plant-store/1.0.0');
  const headers = {
    'webhook-id': String(request.headers['webhook-id']),
    'webhook-timestamp': String(request.headers['webhook-timestamp']),
    'webhook-signature': String(request.headers['webhook-signature']),
  };
  new Webhook(secret).verify(text, headers);
});

/** How far the clock of the store is ahead: more than a test takes. */
const AHEAD_MS = 3_600_000;

test('due times refer to the clock of the store, also while that is slower than this process', async (t) => {
  const begin = [runtime.clock.now(), performance.now()] as const;
  const clock = { now: () => Math.floor(begin[0] + AHEAD_MS + (performance.now() - begin[1]) / 2) };
  const { promise, resolve } = Promise.withResolvers<number>();
  const { ended } = start(t, {
    clock,
    lanes: {
      async read(request) {
        resolve(request.now - clock.now());
        return storeLanes.read(request);
      },
    },
  });
  const owner = await newOwner();
  await subscribe(owner, await newReceiver());
  await setTimeout(20);
  await addPlants(owner, 1);
  const skew = await promise;
  assert.ok(skew <= 0 && skew > -AHEAD_MS / 2, String(skew));
  await ended(1);
});

test('every plant reaches every webhook of its owner exactly once, and nobody else', async (t) => {
  const [one, two, other] = [await newReceiver(), await newReceiver(), await newReceiver()];
  const owner = await newOwner();
  await subscribe(owner, one);
  await subscribe(owner, two);
  await subscribe(await newOwner(), other);
  const { ended } = start(t);
  await addPlants(owner, 200);
  await ended(400);
  for (const receiver of [one, two]) {
    assert.equal(receiver.received.length, 200);
    assert.equal(new Set(idsOf(receiver.received)).size, 200);
  }
  assert.equal(other.received.length, 0);
});

test('a failed attempt is followed by another, with the same id and a new signature time', async (t) => {
  const receiver = await newReceiver();
  // On a used connection the request would be repeated within the attempt.
  receiver.script({ status: 500, headers: { connection: 'close' } }, 'reset');
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  const { ended, recorded } = start(t);
  await addPlants(owner, 1);
  await ended(1);
  assert.deepEqual(await deliveryOf(webhook), ['delivered', 3, undefined]);
  assert.equal(new Set(idsOf(receiver.received)).size, 1);
  assert.deepEqual(
    recorded.map(({ reason }) => reason),
    ['The receiver answered 500.', 'The connection was closed before the response was complete.', undefined],
  );
});

test('after the last attempt of the schedule the delivery has failed', async (t) => {
  const receiver = await newReceiver();
  receiver.usually({ status: 400 });
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  const { ended } = start(t, { schedule: [0, 1] });
  await addPlants(owner, 1);
  await ended(1);
  assert.deepEqual(await deliveryOf(webhook), ['failed', 2, 'The receiver answered 400.']);
  assert.equal(receiver.received.length, 2);
});

test('hanging receivers delay no other', async (t) => {
  const quick = await newReceiver();
  const owner = await newOwner();
  for (let i = 0; i < 10; i++) {
    const hanging = await newReceiver();
    hanging.usually('hang');
    await subscribe(owner, hanging);
  }
  const { webhook } = await subscribe(owner, quick);
  const { recorded } = start(t, { bounds: { inAll: 32, drainMs: 10 } });
  await addPlants(owner, 30);
  await quick.receive(30);
  assert.deepEqual(
    recorded.filter((outcome) => outcome.webhook !== webhook.id),
    [],
  );
});

test('no more requests than allowed run at once to one webhook', async (t) => {
  const receiver = await newReceiver();
  let underWay = 0;
  let most = 0;
  receiver.usually((_, response) => {
    most = Math.max(most, ++underWay);
    setImmediate().then(() => {
      underWay--;
      response.writeHead(200).end();
    });
  });
  const owner = await newOwner();
  await subscribe(owner, receiver);
  const { ended } = start(t, { concurrency: 3 });
  await addPlants(owner, 50);
  await ended(50);
  assert.ok(most <= 3, `${most} at once`);
});

/** A webhook as an older version, or a damaged store, may contain it. */
async function stored(owner: number, parts: { url: string; privateKey: string }): Promise<string> {
  const { webhooks } = store;
  const id = runtime.ids.next('wh');
  const rest = { description: undefined, rate: undefined, publicKey: 'whpk_', createdAt: 0 };
  await webhooks.createWebhook({ id, owner, ...rest, secrets: [newSecret(runtime.random)], ...parts }, 10);
  return id;
}

test('a webhook with an unreadable key fails by the schedule and holds up no other', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  const broken = await stored(owner, { url: receiver.url, privateKey: 'whsk_broken' });
  const { webhook } = await subscribe(owner, receiver);
  const { ended } = start(t, { schedule: [0, 1] });
  await addPlants(owner, 20);
  const outcomes = await ended(40);
  const good = outcomes.filter((outcome) => outcome.webhook === webhook.id);
  assert.ok(good.every(({ next }) => next.state === 'delivered') && good.length === 20);
  const bad = outcomes.filter((outcome) => outcome.webhook === broken);
  assert.ok(bad.every(({ next, reason }) => next.state === 'failed' && reason === NOT_SIGNED));
});

test('a stored webhook whose host is now refused fails by the schedule with the rule', async (t) => {
  const owner = await newOwner();
  const { privateKey } = newKeyPair(runtime.random);
  const hosts = [`${'a.'.repeat(128)}example`, `${'a'.repeat(64)}.example`, 'a..example', 'xn--.example'];
  for (const host of hosts) await stored(owner, { url: `https://${host}/`, privateKey });
  const { ended, recorded } = start(t, { schedule: [0, 1] });
  await addPlants(owner, 1);
  const outcomes = await ended(hosts.length);
  assert.equal(recorded.length, 2 * hosts.length);
  for (const { next, reason } of outcomes) {
    assert.equal(next.state, 'failed');
    assert.match(reason ?? '', /by the rule "host"/);
  }
});

test("a killed process's deliveries are noted after the next start, and resent as fast as before", async (t) => {
  const receiver = await newReceiver();
  receiver.usually('hang');
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  // The killed process records nothing.
  const { runner } = start(t, {
    lanes: { record: () => new Promise<never>(() => {}) },
    bounds: { drainMs: 1, lastRecordMs: 1 },
    concurrency: 3,
  });
  await addPlants(owner, 42);
  await receiver.receive(3);
  await runner.stop();

  const suspected: string[] = [];
  let waiting: ServerResponse[] = [];
  // Answers three requests at once: one at a time would never be answered.
  receiver.usually((_, response) => {
    waiting.push(response);
    if (waiting.length < 3) return;
    for (const one of waiting) one.writeHead(204).end();
    waiting = [];
  });
  const { ended } = start(t, {
    wasKilled: true,
    concurrency: 3,
    lanes: {
      suspect(id, event, ...of) {
        suspected.push(event);
        return storeLanes.suspect(id, event, ...of);
      },
    },
  });
  await ended(42);
  // Three may have been in flight, and one more in the slot for requested deliveries.
  assert.ok(suspected.length >= 4 && suspected.length < 42, `${suspected.length} noted`);
  assert.equal(new Set(idsOf(receiver.received)).size, 42);
  assert.deepEqual((await store.deliveries.health(webhook.id)).waiting, 0);
});

test('deliveries waiting at the start are sent', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  await subscribe(owner, receiver);
  await addPlants(owner, 40);
  const { ended } = start(t, { bounds: { inAll: 8 } });
  await ended(40);
  assert.equal(new Set(idsOf(receiver.received)).size, 40);
});

test('deliveries are found by a search when no hint comes', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  await subscribe(owner, receiver);
  const { ended } = start(t, { lanes: { listen() {} }, bounds: { searchMs: 10 } });
  await addPlants(owner, 1);
  await ended(1);
});

test('when another process has ended, a search finds its deliveries at once', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  await subscribe(owner, receiver);
  let tellGone = () => {};
  const searched = Promise.withResolvers<void>();
  const { ended } = start(t, {
    lanes: {
      listen() {},
      async findWork(after, limit) {
        const work = await storeLanes.findWork(after, limit);
        searched.resolve();
        return work;
      },
    },
    owners: {
      listen({ gone }) {
        tellGone = gone;
      },
    },
    bounds: { searchMs: 60_000 },
  });
  await searched.promise;
  await addPlants(owner, 1);
  tellGone();
  await ended(1);
});

test('a store that fails for a while loses no delivery', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  await subscribe(owner, receiver);
  const failures = { findWork: 2, read: 3, record: 3 };
  function failing<Args extends unknown[], T>(
    name: keyof typeof failures,
    call: (...args: Args) => Promise<T>,
  ) {
    return (...args: Args): Promise<T> =>
      failures[name]-- > 0 ? Promise.reject(new AppError(50302)) : call(...args);
  }
  const over = Promise.withResolvers<void>();
  let kept = 0;
  const flaky: Partial<LaneStore> = {
    findWork: failing('findWork', storeLanes.findWork),
    read: failing('read', storeLanes.read),
    record: failing('record', async (outcomes) => {
      const results = await storeLanes.record(outcomes);
      kept += outcomes.length;
      if (kept === 20) over.resolve();
      return results;
    }),
  };
  start(t, { lanes: flaky, bounds: { searchMs: 10 } });
  await addPlants(owner, 20);
  await over.promise;
  assert.equal(new Set(idsOf(receiver.received)).size, 20);
});

test('outcomes that the store refused stay in the queue, and each batch is measured with its failures', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  await subscribe(owner, receiver);
  const batches: EndedBatch[] = [];
  const queues: number[] = [];
  let fails = true;
  const { runner } = start(t, {
    measures: { attemptEnded() {}, happened() {}, batchEnded: (_, batch) => void batches.push(batch) },
    lanes: {
      record(outcomes) {
        queues.push(runner.queue().commands);
        if (!fails) return storeLanes.record(outcomes);
        fails = false;
        return Promise.reject(new AppError(50302));
      },
    },
  });
  await addPlants(owner, 1);
  await eventually('record', async () => (batches.length === 2 ? true : undefined));
  assert.deepEqual(queues, [1, 1]);
  assert.deepEqual(runner.queue(), { commands: 0, ageMs: 0 });
  const [refused, done] = batches;
  assert.deepEqual([refused?.commands, refused?.failures], [1, [50302]]);
  assert.deepEqual([done?.commands, done?.failures], [1, []]);
  assert.ok(done && refused && done.waitMs >= refused.waitMs + 5 && done.commitMs >= 0);
});

test('stopping waits for pending requests, records them, and starts no more', async (t) => {
  const receiver = await newReceiver();
  const answers: (() => void)[] = [];
  receiver.usually((_, response) => answers.push(() => response.writeHead(200).end()));
  const owner = await newOwner();
  await subscribe(owner, receiver);
  const { runner, recorded } = start(t, { concurrency: 2 });
  await addPlants(owner, 5);
  await receiver.receive(2);
  const stopping = Promise.all([runner.stop(), runner.stop()]);
  for (const answer of answers) answer();
  await stopping;
  assert.deepEqual(
    recorded.map(({ next }) => next.state),
    ['delivered', 'delivered'],
  );
  assert.equal(receiver.received.length, 2);
});

test('stopping hands lanes over at once, except those whose receiver has not answered yet', async (t) => {
  const [quick, slow] = [await newReceiver(), await newReceiver()];
  const answers: (() => void)[] = [];
  slow.usually((_, response) => answers.push(() => response.writeHead(204).end()));
  const owner = await newOwner();
  const [idle, busy] = [await subscribe(owner, quick), await subscribe(owner, slow)];
  const given = new EventEmitter<{ lanes: [readonly string[]] }>();
  const { runner, ended } = start(t, {
    owners: { giveBack: async (webhooks) => void given.emit('lanes', webhooks) },
  });
  await addPlants(owner, 1);
  await Promise.all([ended(1), slow.receive(1)]);
  const first = once(given, 'lanes');
  const stopping = runner.stop();
  assert.deepEqual(await first, [[idle.webhook.id]]);
  const second = once(given, 'lanes');
  for (const answer of answers) answer();
  assert.deepEqual(await second, [[busy.webhook.id]]);
  await stopping;
});

test('stopping ends requests that take too long, which are resent after the next start', async (t) => {
  const receiver = await newReceiver();
  receiver.script('hang');
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  const first = start(t, { bounds: { drainMs: 10 } });
  await addPlants(owner, 1);
  await receiver.receive(1);
  await first.runner.stop();
  assert.deepEqual(first.recorded, []);
  const second = start(t);
  await second.ended(1);
  assert.deepEqual(await deliveryOf(webhook), ['delivered', 1, undefined]);
});

test('delivery can be stopped when the store never answers again', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  await subscribe(owner, receiver);
  const never = () => new Promise<never>(() => {});
  const { runner } = start(t, { lanes: { record: never }, bounds: { drainMs: 10, lastRecordMs: 10 } });
  await addPlants(owner, 1);
  await receiver.receive(1);
  await runner.stop();
  const down = () => Promise.reject(new AppError(50302));
  await start(t, { lanes: { findWork: down, read: down } }).runner.stop();
  const silent = start(t, {
    lanes: { findWork: never },
    owners: { drain: never },
    bounds: { lastRecordMs: 10 },
  });
  await silent.runner.stop();
});

test('a stop starts nothing more, even if the store does not answer that it stops', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  const drained = Promise.withResolvers<void>();
  const { runner } = start(t, { owners: { drain: () => drained.promise } });
  const stopping = runner.stop();
  await addPlants(owner, 1);
  // Nothing signals that nothing is sent.
  await setTimeout(100);
  drained.resolve();
  await stopping;
  assert.deepEqual([receiver.received.length, ...(await deliveryOf(webhook))], [0, 'pending', 0, undefined]);
});

test('deleting a webhook during a request does no harm', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  const gone = Promise.withResolvers<Recorded[]>();
  receiver.script((_, response) => {
    store.webhooks.deleteWebhook(owner, webhook.id).then(() => response.writeHead(200).end());
  });
  start(t, {
    lanes: {
      async record(outcomes) {
        while (await store.chores.hasChores(0)) await store.chores.advance({ now: 0, limit: 10 });
        const results = await storeLanes.record(outcomes);
        gone.resolve(results);
        return results;
      },
    },
  });
  await addPlants(owner, 1);
  assert.deepEqual(await gone.promise, ['gone']);
});

test('a receiver that answers 410 is sent nothing more, and its waiting deliveries are held', async (t) => {
  const receiver = await newReceiver();
  receiver.script({ status: 410 });
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  const { recorded } = start(t, { concurrency: 1 });
  await addPlants(owner, 3);
  await receiver.receive(1);
  while (recorded.length < 1) await setImmediate();
  const shown = await store.webhooks.webhook(owner, webhook.id);
  assert.deepEqual(
    [shown?.status, shown?.disabledReason],
    ['disabled', 'The receiver answered 410: it is gone.'],
  );
  assert.equal((await store.deliveries.health(webhook.id)).waiting, 3);
  await store.webhooks.changeWebhook(owner, webhook.id, { at: runtime.clock.now(), enabled: true });
  await receiver.receive(4);
});

test('a receiver that requests a pause is sent nothing until it ends', async (t) => {
  const receiver = await newReceiver();
  receiver.script({ status: 503, headers: { 'retry-after': '1' } });
  const owner = await newOwner();
  await subscribe(owner, receiver);
  const { ended } = start(t, { concurrency: 1 });
  await addPlants(owner, 5);
  await ended(5);
  const [first, second] = receiver.received;
  assert.ok(first && second && second.at - first.at >= 990, 'it was asked again too early');
  assert.equal(receiver.received.length, 6);
});

test('a webhook whose every attempt failed for too long is disabled', async (t) => {
  const receiver = await newReceiver();
  receiver.usually({ status: 500 });
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  start(t, { schedule: Array(50).fill(5), disableAfterMs: 30 });
  await addPlants(owner, 1);
  let shown = await store.webhooks.webhook(owner, webhook.id);
  while (shown?.status === 'enabled') {
    await setImmediate();
    shown = await store.webhooks.webhook(owner, webhook.id);
  }
  assert.match(shown?.disabledReason ?? '', /^Every attempt has failed since 20/);
  assert.equal((await deliveryOf(webhook))[0], 'held');
});

test('a webhook gets no more attempts per second than its rate', async (t) => {
  const receiver = await newReceiver();
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  await store.webhooks.changeWebhook(owner, webhook.id, { at: 0, rate: 20 });
  await addPlants(owner, 15);
  const { ended } = start(t);
  const times = (await ended(15)).map(({ attempt }) => attempt.at).sort((a, b) => a - b);
  // At most two at once, then one every 50 ms.
  assert.ok(Number(times.at(-1)) - Number(times[0]) >= 13 * 50 - 60, `${times}`);
});

test('a receiver that is down is probed with one request at a time, and gets everything when it is back', async (t) => {
  const receiver = await newReceiver();
  let underWay = 0;
  let most = 0;
  let count = 0;
  receiver.usually((_, response) => {
    count++;
    underWay++;
    // The first ones started before enough was known.
    if (count > 60) most = Math.max(most, underWay);
    setImmediate().then(() => {
      underWay--;
      response.writeHead(500).end();
    });
  });
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  const { ended } = start(t, { schedule: Array(100).fill(0) });
  await addPlants(owner, 40);
  await receiver.receive(80);
  assert.equal(most, 1);
  receiver.usually({ status: 204 });
  await ended(40);
  assert.deepEqual(await store.deliveries.health(webhook.id), {
    waiting: 0,
    failed: 0,
    oldestWaitingAt: undefined,
  });
});

test('the waiting deliveries of a disabled webhook are not sent', async (t) => {
  const receiver = await newReceiver();
  const answers: (() => void)[] = [];
  receiver.usually((_, response) => answers.push(() => response.writeHead(204).end()));
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  const { recorded } = start(t, { concurrency: 2 });
  await addPlants(owner, 6);
  await receiver.receive(2);
  await store.webhooks.changeWebhook(owner, webhook.id, { at: 0, enabled: false });
  for (const answer of answers) answer();
  while (recorded.length < 2) await setImmediate();
  assert.equal(receiver.received.length, 2);
  assert.equal((await store.deliveries.health(webhook.id)).waiting, 4);
});

test('a rate is reached however slow the receiver is', async (t) => {
  const receiver = await newReceiver();
  // Answers only several requests together: one after another would never end.
  const waiting: ServerResponse[] = [];
  receiver.usually((_, response) => {
    if (waiting.push(response) < 6) return;
    for (const one of waiting.splice(0)) one.writeHead(204).end();
  });
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  await store.webhooks.changeWebhook(owner, webhook.id, { at: 0, rate: 40 });
  await addPlants(owner, 30);
  const { ended } = start(t);
  const times = (await ended(30)).map(({ attempt }) => attempt.at).sort((a, b) => a - b);
  const took = Number(times.at(-1)) - Number(times[0]);
  assert.ok(took >= 600, `30 attempts took ${took} ms`);
});

test('a test and a redelivery of a failing webhook are attempted at once, whatever else waits', async (t) => {
  const receiver = await newReceiver();
  receiver.usually({ status: 500 });
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  // No probe before the end of the test.
  const { recorded } = start(t, {
    schedule: Array(50).fill(0),
    bounds: { probeMs: { first: 3_600_000, most: 3_600_000 } },
  });
  await addPlants(owner, 100);
  while (recorded.length < limits.failuresToProbe) await setImmediate();
  const [waits] = await deliveriesTo(store, webhook, { state: 'pending' });
  assert.ok(waits);
  for (const ask of [
    () => testWebhook(contextOf(), owner, webhook.id),
    () => redeliver(contextOf(), owner, webhook.id, waits.event.id),
  ]) {
    const before = receiver.received.length;
    const { event } = await ask();
    const isSent = () =>
      receiver.received.slice(before).some(({ headers }) => headers['webhook-id'] === event.id);
    while (!isSent()) await setImmediate();
  }
});

test('a delivery resent while it waits its turn is sent once', async (t) => {
  const receiver = await newReceiver();
  const answers: (() => void)[] = [];
  receiver.script((_, response) => answers.push(() => response.writeHead(204).end()));
  const owner = await newOwner();
  const { webhook } = await subscribe(owner, receiver);
  await addPlants(owner, 5);
  const { ended } = start(t, { concurrency: 1 });
  await receiver.receive(1);
  const waiting = (await deliveriesTo(store, webhook, { state: 'pending' }))
    .map(({ event }) => event.id)
    .filter((event) => !idsOf(receiver.received).includes(event));
  for (const event of waiting) await redeliver(contextOf(), owner, webhook.id, event);
  for (const answer of answers) answer();
  await ended(5);
  assert.equal(receiver.received.length, 5);
});
