import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { connect } from '../../../src/cli/api.ts';
import { pagesOf } from '../../../src/cli/pages.ts';
import { run } from '../../../testkit/processes/program.ts';
import { dataOf, failureOf, type Remote, startRemote, wordsOf } from '../../../testkit/processes/remote.ts';
import { startReceiver } from '../../../testkit/receivers/receiver.ts';
import { stock } from './stock.ts';

const NO_EVENT = 'evt_01m7xzsn3sskhbnh27akn17wp9';

type Listed = { event: string; state: string; attempts: number; plant: { id: number; name: string } };

async function listed({ verb }: Remote, id: string, ...flags: string[]): Promise<Listed[]> {
  return JSON.parse(dataOf(await verb('delivery', 'list', id, '--json', ...flags)));
}

/** Creates these plants and waits until each is delivered to this webhook. */
async function delivered(remote: Remote, id: string, names: readonly string[]): Promise<Listed[]> {
  const before = remote.receiver.received.length;
  for (const name of names) await remote.plant(JSON.stringify({ name }));
  await remote.receiver.receive(before + names.length);
  for (;;) {
    const found = await listed(remote, id, '--state', 'delivered');
    if (found.length >= names.length) return found;
  }
}

test('webhook test prints the id of the event and says how to see its outcome', async (t) => {
  const { verb, webhook, receiver } = await startRemote(t);
  const id = await webhook();
  const { code, stdout, stderr } = await verb('webhook', 'test', id);
  assert.equal(code, 0, stderr);
  const event = stdout.trim();
  assert.equal(stderr, `To see the outcome: plant-store delivery show ${id} ${event}\n`);
  const [request] = await receiver.receive(1);
  assert.equal(request?.headers['webhook-id'], event);
  assert.equal(request?.headers['ce-type'], 'plant.test');
});

test('webhook test --wait shows the attempt of a working receiver', async (t) => {
  const { verb, webhook } = await startRemote(t);
  const id = await webhook();
  const text = dataOf(await verb('webhook', 'test', id, '--wait'));
  assert.match(text, /^Event +evt_\w+\nType +plant\.test\n/);
  assert.match(text, /\nState +delivered\nAttempts +1\n/);
  assert.match(text, /\nATTEMPT AT +DURATION +ADDRESS +STATUS +ANSWER\n2\S+Z +\d+ ms +127\.0\.0\.1 +204\n$/);
  const json = JSON.parse(dataOf(await verb('webhook', 'test', id, '--wait', '--json')));
  assert.equal(json.history[0].status, 204);
});

test('webhook test --wait fails with 1 and the reason when the attempt fails, and shows it too', async (t) => {
  const { verb, webhook, receiver } = await startRemote(t);
  const id = await webhook();
  receiver.usually({ status: 500, body: `first line\u001b[31m${'x'.repeat(80)}\nsecond line` });
  const { code, stdout, stderr } = await verb('webhook', 'test', id, '--wait');
  assert.equal(code, 1);
  assert.match(stdout, /\nState +pending\n/);
  assert.match(stdout, /127\.0\.0\.1 +500 +first line\\u\{1b\}\[31mx+…\n$/);
  assert.equal(stderr, 'error: The test failed: The receiver answered 500.\n');
});

test('webhook test and delivery redeliver say when a paused webhook gets it', async (t) => {
  const { verb, webhook, receiver } = await startRemote(t);
  const id = await webhook();
  receiver.usually({ status: 429, headers: { 'retry-after': '7200' } });
  assert.match((await verb('webhook', 'test', id, '--wait')).stderr, /The receiver answered 429/);
  const { stdout, stderr } = await verb('webhook', 'test', id);
  const paused =
    /^evt_\w+ will not be sent before \S+Z\. If the webhook is paused, end the pause: plant-store webhook enable wh_\w+\n$/;
  assert.match(stderr, paused);
  assert.match(wordsOf(await verb('delivery', 'redeliver', id, stdout.trim())), paused);
});

test('webhook test compares times of the service only, so a slow clock here does not matter', async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const plant = { id: 7, name: 'Alder' };
  const [webhook, event] = ['wh_1', NO_EVENT];
  const times = { createdAt: at, nextAttemptAt: at };
  const sent = { webhook, event, type: 'plant.test', state: 'pending', attempts: 0, plant, ...times };
  receiver.usually({ status: 202, body: JSON.stringify(sent) });
  const env = { PLANT_STORE_URL: receiver.url, PLANT_STORE_TOKEN: 'x' };
  const { stderr } = await run(['webhook', 'test', webhook], env);
  assert.equal(stderr, `To see the outcome: plant-store delivery show ${webhook} ${event}\n`);
});

test('webhook test --wait does not wait for a webhook that is disabled', async (t) => {
  const { verb, webhook } = await startRemote(t);
  const id = await webhook();
  wordsOf(await verb('webhook', 'disable', id));
  assert.match(failureOf(await verb('webhook', 'test', id, '--wait')), /is disabled, so evt_\w+ is held/);
});

test('delivery list shows the newest first, as many as asked for, and says that there are more', async (t) => {
  const remote = await startRemote(t);
  const { verb, webhook } = remote;
  const id = await webhook();
  assert.equal(wordsOf(await verb('delivery', 'list', id)), 'No deliveries found.\n');
  assert.equal(dataOf(await verb('delivery', 'list', id, '--json')), '[]\n');

  await delivered(remote, id, ['Alder', 'Beech', 'Cherry']);
  const { code, stdout, stderr } = await verb('delivery', 'list', id, '--limit', '2');
  assert.equal(code, 0);
  assert.match(stdout, /^EVENT +TYPE +STATE +ATTEMPTS +NEXT ATTEMPT +PLANT +NAME +REASON\n/);
  assert.match(
    stdout,
    /\nevt_\w+ +plant\.created +delivered +1 +- +3 +Cherry\nevt_\w+ +plant\.created +delivered +1 +- +2 +Beech\n$/,
  );
  assert.equal(stderr, 'There are more: --all lists all of them, --limit a different number.\n');
});

test('delivery list without a webhook shows those of all, by state, plant and time, each with its webhook', async (t) => {
  const { verb, webhook, plant } = await startRemote(t);
  const ids = [await webhook(), await webhook()];
  for (const id of ids) wordsOf(await verb('webhook', 'disable', id));
  for (const name of ['Alder', 'Beech']) await plant(JSON.stringify({ name }));
  const table = dataOf(await verb('delivery', 'list'));
  assert.match(table, /^EVENT .* REASON +WEBHOOK\n/);
  assert.equal(table.trim().split('\n').length, 5);
  const webhooks = async (...flags: string[]) =>
    JSON.parse(dataOf(await verb('delivery', 'list', '--json', ...flags))).map(
      (one: { webhook: string }) => one.webhook,
    );
  const newestFirst = ids.toReversed();
  assert.deepEqual(await webhooks('--state', 'held', '--since', '1h'), [...newestFirst, ...newestFirst]);
  assert.deepEqual(await webhooks('--plant', '1'), newestFirst);
  assert.deepEqual(await webhooks('--until', '2020-01-01T00:00:00Z'), []);
  assert.deepEqual(await webhooks(String(ids[0]), '--plant', '2'), [ids[0]]);
  assert.match(failureOf(await verb('delivery', 'list', 'wh_none')), /You have no webhook with this id/);
});

test('delivery list --all follows the pages to the end', async (t) => {
  const remote = await startRemote(t);
  const id = await remote.webhook();
  // Held deliveries need no attempts; a page has 1000.
  wordsOf(await remote.verb('webhook', 'disable', id));
  const count = 1005;
  await stock(remote, count);
  const all = await listed(remote, id, '--all');
  assert.equal(new Set(all.map(({ event }) => event)).size, count);
  const most = await remote.verb('delivery', 'list', id, '--json', '--limit', '1003');
  assert.equal(JSON.parse(most.stdout).length, 1003);
  assert.match(most.stderr, /^There are more/);
  const table = dataOf(await remote.verb('delivery', 'list', id, '--all', '--state', 'held'));
  const lines = table.trim().split('\n');
  assert.equal(lines.length, count + 1);
  assert.equal(lines.filter((line) => line.startsWith('EVENT')).length, 1);
  assert.equal(new Set(lines.map((line) => line.search(/PLANT|\d+ +Plant/))).size, 1, 'columns line up');
});

test('a link to the public URL is followed on the URL in use, below its path', async (t) => {
  const asked: (string | undefined)[] = [];
  const at = '2026-11-21T09:00:00Z';
  const plant = { id: 7, name: 'Alder' };
  const delivery = {
    webhook: 'wh_1',
    event: 'evt_1',
    type: 'plant.created',
    state: 'held',
    createdAt: at,
    attempts: 0,
    plant,
  };
  const service = createServer(({ url }, response) => {
    asked.push(url);
    const link =
      '<https://plants.example.org/store/webhooks/wh_1/deliveries?limit=2&cursor=a%2Bb>; rel="next"';
    response.writeHead(200, asked.length === 1 ? { link } : {}).end(JSON.stringify([delivery]));
  });
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  t.after(() => service.close());
  const address = service.address();
  assert.ok(typeof address === 'object' && address !== null);

  const api = { url: `http://127.0.0.1:${address.port}/store`, token: 'x' };
  const { webhooks } = connect(api);
  const pages = pagesOf((page) => webhooks.deliveriesPage('wh_1', { ...page, state: 'held' }), { limit: 2 });
  assert.deepEqual(await Array.fromAsync(pages, ({ next }) => next), ['a+b', undefined]);
  assert.deepEqual(asked, [
    '/store/webhooks/wh_1/deliveries?limit=2&state=held',
    '/store/webhooks/wh_1/deliveries?limit=1&cursor=a%2Bb&state=held',
  ]);
});

test('64-bit ids keep every digit, in tables and as JSON', async (t) => {
  const remote = await startRemote(t);
  const { verb, webhook, receiver, plant } = remote;
  const id = await webhook();
  await plant('{"id":9007199254740993,"name":"Alder","tag":"Alnus"}');
  const [request] = await receiver.receive(1);
  const event = String(request?.headers['webhook-id']);
  assert.match(dataOf(await verb('delivery', 'list', id)), / 9007199254740993 +Alder/);
  assert.match(dataOf(await verb('delivery', 'list', id, '--json')), /"id": 9007199254740993,/);
  assert.match(dataOf(await verb('delivery', 'show', id, event, '--json')), /"id": 9007199254740993,/);
  assert.match(
    dataOf(await verb('delivery', 'show', id, event)),
    /\nPlant +9007199254740993\nName +Alder\nTag +Alnus\n/,
  );
});

test('delivery show shows every attempt, and why it failed', async (t) => {
  const remote = await startRemote(t, { WEBHOOK_RETRY_SCHEDULE: '0s,1ms' });
  const { verb, webhook, receiver } = remote;
  const id = await webhook();
  receiver.script('reset', { status: 503 });
  await remote.plant('{"name":"Alder"}');
  await receiver.receive(2);
  let failed: Listed[] = [];
  while (failed.length === 0) failed = await listed(remote, id, '--state', 'failed');
  const event = failed[0]?.event ?? '';
  const text = dataOf(await verb('delivery', 'show', id, event));
  assert.match(text, /\nState +failed\nAttempts +2\nReason +The receiver answered 503\.\n/);
  assert.match(text, / 127\.0\.0\.1 +- +The connection was closed .*\n\S+ +\d+ ms +127\.0\.0\.1 +503\n$/);
});

test('a delivery can be resent, whatever its state', async (t) => {
  const remote = await startRemote(t);
  const { verb, webhook, receiver } = remote;
  const id = await webhook();
  const [delivery] = await delivered(remote, id, ['Alder']);
  const event = delivery?.event ?? '';
  assert.equal(
    wordsOf(await verb('delivery', 'redeliver', id, event)),
    `Resending ${event}. To see the outcome: plant-store delivery show ${id} ${event}\n`,
  );
  const [, again] = await receiver.receive(2);
  assert.equal(again?.headers['webhook-id'], event);
  const json = JSON.parse(dataOf(await verb('delivery', 'redeliver', id, event, '--json')));
  assert.equal(json.event, event);

  wordsOf(await verb('webhook', 'disable', id));
  assert.match(
    wordsOf(await verb('delivery', 'redeliver', id, event)),
    /^The webhook is disabled, so evt_\w+ is held\. To send it:/,
  );
});

test('a replay resends events since a time, even from before the webhook was created', async (t) => {
  const { verb, webhook, receiver, plant } = await startRemote(t);
  await plant('{"name":"Alder"}');
  await plant('{"name":"Beech"}');
  const id = await webhook();
  assert.match(
    wordsOf(await verb('webhook', 'replay', id, '--since', '2h')),
    /^Resending events since 2\S+Z: 2\. .*plant-store delivery list wh_\w+\n$/,
  );
  const requests = await receiver.receive(2);
  assert.deepEqual(requests.map(({ body }) => JSON.parse(body.toString()).name).sort(), ['Alder', 'Beech']);

  const since = new Date(Date.now() + 60_000).toISOString();
  assert.match(wordsOf(await verb('webhook', 'replay', id, '--since', since)), /^Nothing to resend since 2/);
  const failed = await verb('webhook', 'replay', id, '--since', '2h', '--state', 'failed', '--json');
  assert.deepEqual(JSON.parse(dataOf(failed)), { count: 0 });
});

test('an unknown delivery fails with its code', async (t) => {
  const { verb, webhook } = await startRemote(t);
  const id = await webhook();
  assert.match(failureOf(await verb('delivery', 'show', id, NO_EVENT)), /\(error 40403\)$/);
  assert.match(failureOf(await verb('delivery', 'redeliver', id, NO_EVENT)), /\(error 40403\)$/);
  assert.match(
    failureOf(await verb('delivery', 'list', 'wh_01k9f3zv7h8q2m5x4c6d0n1r8t')),
    /\(error 40402\)$/,
  );
});
