import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { storePath } from '../../../src/config/config.ts';
import { type Receiver, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { type DeliveryAnswer, eventsIn, type Owner, ownerOf } from '../../../testkit/service/owner.ts';
import { startService } from '../../../testkit/service/service.ts';

const LOCAL = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
const service = await startService({ ...LOCAL, WEBHOOK_RETRY_SCHEDULE: '0s,20ms' });
/** A service for tests that need nothing else to happen. */
const quiet = await startService(LOCAL);
const impatient = await startService({
  ...LOCAL,
  WEBHOOK_RETRY_SCHEDULE: '0s,10ms,20ms,40ms,1h',
  WEBHOOK_DISABLE_AFTER: '30ms',
});
const receivers: Receiver[] = [];
after(async () => {
  for (const receiver of receivers) await receiver.stop();
  await Promise.all([service, quiet, impatient].map(({ stop }) => stop()));
});

async function newReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}

async function newOwner(user: string): Promise<Owner> {
  return ownerOf(service, await service.tokenFor(user));
}

// Each has its own user and receivers, and most of them wait for the service.
describe('cases in which other webhook senders lose events', { concurrency: true }, () => {
  test("a repeated create is refused, and the plant's one event is sent once", async () => {
    const receiver = await newReceiver();
    const token = await service.tokenFor('retrying');
    const owner = ownerOf(service, token);
    const webhook = await owner.subscribe(receiver);
    const body = { id: 7, name: 'Alder' };
    succeeded(await service.request('POST', '/plants', { token, body }), 201);
    for (let i = 0; i < 3; i++) failed(await service.request('POST', '/plants', { token, body }), 40900);

    const events = await owner.events();
    assert.equal(events.length, 1);
    await owner.settled(webhook);
    assert.deepEqual(eventsIn(receiver.received), events);
  });

  test('a plant added by another process without a hint is delivered', async () => {
    const receiver = await newReceiver();
    const owner = ownerOf(quiet, quiet.token);
    await owner.subscribe(receiver);
    await quiet.beside(async ({ store, runtime }) => {
      const [user] = await store.access.users();
      assert.ok(user);
      const plant = { owner: user.id, id: undefined, name: 'Alder', tag: undefined };
      await store.plants.create({ ...plant, event: runtime.ids.next('evt'), at: runtime.clock.now() });
    });
    await receiver.receive(1);
    assert.deepEqual(eventsIn(receiver.received), await owner.events());
  });

  test('a store that another process locks for a while loses nothing', async () => {
    const receiver = await newReceiver();
    const owner = await newOwner('locked-out');
    const webhook = await owner.subscribe(receiver);
    await owner.create(1);
    const other = new DatabaseSync(storePath(service.dataDir), { timeout: 5000 });
    other.exec('BEGIN IMMEDIATE');
    const created = Promise.all(Array.from({ length: 5 }, () => owner.create(2)));
    // Outcomes meanwhile cannot be recorded.
    await pause(150);
    other.exec('COMMIT');
    other.close();
    await created;
    await owner.settled(webhook);
    assert.deepEqual(eventsIn(receiver.received).toSorted(), await owner.events());
  });

  test('events of a disabled webhook are held and listed, and sent when it is enabled', async () => {
    const receiver = await newReceiver();
    const owner = await newOwner('holding');
    const webhook = await owner.subscribe(receiver);
    await owner.enable(webhook, false);
    await owner.create(5);
    const events = await owner.events();
    const held = await owner.deliveries(webhook, '?state=held');
    assert.deepEqual(
      held.map(({ event, attempts }) => [event, attempts]),
      events.toReversed().map((event) => [event, 0]),
    );
    assert.equal((await owner.webhook(webhook)).waiting, 5);
    assert.deepEqual(receiver.received, []);

    await owner.enable(webhook, true);
    await receiver.receive(5);
    await owner.settled(webhook);
    assert.deepEqual(eventsIn(receiver.received).toSorted(), events);
  });

  test('a permanently failed delivery is listed with its reason and attempts, and arrives when replayed', async () => {
    const receiver = await newReceiver();
    receiver.usually({ status: 500, body: 'We are sorry.' });
    const owner = await newOwner('replaying');
    const webhook = await owner.subscribe(receiver);
    await owner.create(2);
    assert.equal((await owner.settled(webhook)).failed, 2);
    const events = await owner.events();
    const listed = await owner.deliveries(webhook, '?state=failed');
    assert.deepEqual(
      listed.map(({ event, attempts, reason }) => ({ event, attempts, reason })),
      events.toReversed().map((event) => ({ event, attempts: 2, reason: 'The receiver answered 500.' })),
    );
    const { history } = await owner.delivery(webhook, events[0] ?? '');
    assert.deepEqual(
      history.map(({ status, excerpt }) => [status, excerpt]),
      [
        [500, 'We are sorry.'],
        [500, 'We are sorry.'],
      ],
    );

    receiver.usually({ status: 204 });
    assert.equal(await owner.replay(webhook, 'failed'), 2);
    const again = (await receiver.receive(6)).slice(4);
    assert.deepEqual(eventsIn(again).toSorted(), events);
    assert.equal((await owner.settled(webhook)).failed, 0);
  });

  test('a redirect to a login page is not a delivery', async () => {
    const login = await newReceiver();
    login.usually({ status: 200, body: 'Who are you?' });
    const receiver = await newReceiver();
    receiver.usually({ status: 302, headers: { location: login.url } });
    const owner = await newOwner('redirected');
    const webhook = await owner.subscribe(receiver);
    await owner.create(1);
    assert.equal((await owner.settled(webhook)).failed, 1);
    const [listed] = await owner.deliveries(webhook);
    assert.equal(listed?.reason, 'The receiver answered 302; redirects are not followed.');
    assert.deepEqual(login.received, []);
    assert.equal(receiver.received.length, 2);
  });

  test('a webhook whose every attempt fails for too long is disabled with a reason, and its waiting deliveries are held', async () => {
    const receiver = await newReceiver();
    receiver.usually({ status: 500 });
    const owner = ownerOf(impatient, impatient.token);
    const webhook = await owner.subscribe(receiver);
    await owner.create(1);
    const { disabledReason, waiting } = await eventually('disabled webhook', async () => {
      const shown = await owner.webhook(webhook);
      return shown.status === 'disabled' ? shown : undefined;
    });
    assert.match(disabledReason ?? '', /^Every attempt has failed since 20\S+Z\.$/);
    assert.equal(waiting, 1);
    await owner.create(1);
    assert.deepEqual(
      (await owner.deliveries(webhook)).map(({ state }) => state),
      ['held', 'held'],
    );

    receiver.usually({ status: 204 });
    await owner.enable(webhook, true);
    const { status, failed } = await owner.settled(webhook);
    assert.deepEqual([status, failed], ['enabled', 0]);
    assert.deepEqual(new Set(eventsIn(receiver.received.slice(-2))), new Set(await owner.events()));
  });

  test('pages of deliveries skip and repeat none while deliveries are added and change state', async () => {
    const receiver = await newReceiver();
    const token = await service.tokenFor('paging');
    const owner = ownerOf(service, token);
    const webhook = await owner.subscribe(receiver);
    await owner.create(40);
    await owner.settled(webhook);
    const old = (await owner.events()).toReversed();
    const resting = old.filter((_, i) => i % 2 === 0);

    let isOver = false;
    const changes = (async () => {
      for (let i = 1; !isOver; i = (i + 2) % old.length) {
        await owner.create(1);
        await owner.redeliver(webhook, old[i] ?? '');
      }
    })();
    for (const [limit, state] of [[1], [7], [41], [1, 'delivered'], [7, 'delivered']] as const) {
      const query = `limit=${limit}${state === undefined ? '' : `&state=${state}`}`;
      const listed = await walk(`/webhooks/${webhook}/deliveries?${query}`, token);
      assert.equal(new Set(listed).size, listed.length);
      assert.deepEqual(listed, listed.toSorted().toReversed());
      // What existed all the time, in the requested state.
      const lasting = state === undefined ? old : resting;
      assert.deepEqual(
        listed.filter((event) => lasting.includes(event)),
        lasting,
      );
    }
    isOver = true;
    await changes;
  });
});

/** The events of the deliveries on all pages. */
async function walk(first: string, token: string): Promise<string[]> {
  const events: string[] = [];
  for (let path: string | undefined = first; path !== undefined; ) {
    const answer = await service.request('GET', path, { token });
    // This path lists deliveries.
    for (const { event } of succeeded(answer, 200) as DeliveryAnswer[]) events.push(event);
    path = /^<(\S+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  return events;
}
