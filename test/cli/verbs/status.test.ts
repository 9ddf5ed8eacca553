import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../testkit/processes/program.ts';
import { dataOf, startRemote } from '../../../testkit/processes/remote.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';

test('status of a healthy service says so, with the latency', async (t) => {
  const { verb, webhook } = await startRemote(t);
  await webhook();
  const shown = dataOf(await verb('status'));
  assert.match(shown, /^Service {3}http.*\nAlive {5}yes\nReady {5}yes, .*\nPlants {4}can be read/);
  assert.match(shown, /Webhooks {2}1, all well; 0 waiting, 0 failed\n$/);
});

test('status shows the webhooks that need attention, and what to do', async (t) => {
  const { verb, webhook, plant, receiver } = await startRemote(t, { WEBHOOK_RETRY_SCHEDULE: '0s' });
  const id = await webhook();
  receiver.script({ status: 500 });
  await plant('{"name":"Alder"}');
  await receiver.receive(1);
  let shown = '';
  // It reads webhooks and failed deliveries one after the other.
  while (!/1 needs attention; 0 waiting/.test(shown)) shown = dataOf(await verb('status'));
  assert.match(shown, /Webhooks {2}1, 1 needs attention; 0 waiting, 1 failed\n/);
  assert.ok(
    shown.includes(
      `! ${id} ${receiver.url}\n  The last attempt failed. 1 delivery failed for good.\n  find out why: plant-store delivery list ${id}`,
    ),
  );
  const { webhooks } = JSON.parse(dataOf(await verb('status', '--json')));
  assert.equal(webhooks.attention[0].webhook, id);
});

test('status without a token says whether the service is ready', async (t) => {
  const { service } = await startRemote(t);
  const { code, stdout, stderr } = await run(['status', '--url', service.url]);
  assert.equal(code, 0);
  assert.match(stdout, /Ready {5}yes, [^\n]*\n$/);
  assert.match(stderr, /^With a token it also shows/);
});

test('status ends with 1 when nothing answers', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const { code, stdout } = await run(['status', '--url', url]);
  assert.equal(code, 1);
  assert.match(stdout, /^Service {3}http.*\nAlive {5}no: Nothing answers at .*plant-store serve/);
  const { alive, ready } = JSON.parse((await run(['status', '--url', url, '--json'])).stdout);
  assert.deepEqual([alive.ok, ready], [false, undefined]);
});

test('status says that a token is refused, and ends with 1', async (t) => {
  const { service } = await startRemote(t);
  const { code, stdout } = await run(['status', '--url', service.url, '--token', 'pst_no']);
  assert.equal(code, 1);
  assert.match(stdout, /Plants {4}cannot be read: .*40101/);
});
