import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dataOf, failureOf, type Remote, startRemote, wordsOf } from '../../../testkit/processes/remote.ts';
import { noTerminal, onTerminal } from '../on-terminal.ts';

const SECRET = /whsec_[A-Za-z0-9+/]{43}=/;
const NONE = 'wh_01k9f3zv7h8q2m5x4c6d0n1r8t';

async function shown({ verb }: Remote, id: string): Promise<Record<string, unknown>> {
  return JSON.parse(dataOf(await verb('webhook', 'show', id, '--json')));
}

test('a created webhook is shown with its secret, and a note that it is shown only once', async (t) => {
  const { verb, receiver } = await startRemote(t);
  const { code, stdout, stderr } = await verb(
    ...['webhook', 'create', receiver.url, '--description', 'The greenhouse', '--rate', '20'],
  );
  assert.equal(code, 0, stderr);
  const [id = ''] = /wh_\w+/.exec(stdout) ?? [];
  assert.match(
    stdout,
    new RegExp(
      `^ID +${id}\nURL +${receiver.url}\nDescription +The greenhouse\nRate +at most 20 attempts per second\n` +
        `Public key +whpk_\\S+\nSecret +${SECRET.source}\n$`,
    ),
  );
  assert.equal(
    stderr,
    `The secret is shown only once. To test the receiver: plant-store webhook test ${id} --wait\n`,
  );
});

test('--json prints the whole answer of webhook create, without messages', async (t) => {
  const { verb, receiver } = await startRemote(t);
  const made = JSON.parse(dataOf(await verb('webhook', 'create', receiver.url, '--json')));
  assert.match(made.secret, SECRET);
  assert.equal(made.url, receiver.url);
});

test('a URL that the service refuses fails with the rule and the code', async (t) => {
  const { verb } = await startRemote(t);
  assert.match(failureOf(await verb('webhook', 'create', 'http://10.0.0.1/')), /"private".*\(error 42201\)$/);
});

test('the list shows the health of each webhook, and never a secret', async (t) => {
  const remote = await startRemote(t, { WEBHOOK_RETRY_SCHEDULE: '0s' });
  const { verb, receiver, plant } = remote;
  assert.equal(
    wordsOf(await verb('webhook', 'list')),
    'No webhooks found. To create one: plant-store webhook create URL\n',
  );
  assert.equal(dataOf(await verb('webhook', 'list', '--json')), '[]\n');

  const made = [await remote.webhook(), await remote.webhook()];
  wordsOf(await verb('webhook', 'disable', made[1] ?? ''));
  await plant('{"name":"Alder"}');
  await receiver.receive(1);
  const table = dataOf(await verb('webhook', 'list'));
  assert.match(table, /^ID +STATUS +WAITING +OLDEST +FAILED +URL +DESCRIPTION\n/);
  assert.match(table, new RegExp(`\n${made[1]} +disabled +1 +\\d+s +0 +${receiver.url}\n$`));
  const listed = dataOf(await verb('webhook', 'list', '--json'));
  assert.deepEqual(
    JSON.parse(listed).map(({ id }: { id: string }) => id),
    made,
  );
  assert.doesNotMatch(table + listed, /whsec_/);
});

test('webhook show shows a webhook and its health', async (t) => {
  const remote = await startRemote(t);
  const id = await remote.webhook();
  const text = dataOf(await remote.verb('webhook', 'show', id));
  assert.match(text, new RegExp(`^ID +${id}\nURL +${remote.receiver.url}\nPublic key +whpk_`));
  assert.match(
    text,
    /\nStatus +enabled\nWaiting +0\nFailed +0\nLast success +never\nLast failure +never\nCreated +2/,
  );
  assert.equal((await shown(remote, id)).id, id);
});

test('webhook update changes only the given fields', async (t) => {
  const remote = await startRemote(t);
  const { verb, receiver } = remote;
  const id = await remote.webhook();
  const before = await shown(remote, id);
  const to = `${receiver.url}/new`;
  const moved = await verb('webhook', 'update', id, '--to', to, '--description', 'Door', '--rate', '20');
  assert.equal(moved.code, 0, moved.stderr);
  assert.match(
    moved.stdout,
    new RegExp(
      `^ID +${id}\nURL +${to}\nDescription +Door\nRate +at most 20 attempts per second\nPublic key +\\S+\n$`,
    ),
  );
  assert.equal(moved.stderr, `To test the receiver: plant-store webhook test ${id} --wait\n`);
  assert.deepEqual(await shown(remote, id), { ...before, url: to, description: 'Door', rate: 20 });

  const eased = JSON.parse(dataOf(await verb('webhook', 'update', id, '--rate', 'none', '--json')));
  assert.deepEqual(eased, { ...before, url: to, description: 'Door' });
  const nameless = await verb('webhook', 'update', id, '--description', '');
  assert.doesNotMatch(dataOf(nameless), /Description/);
  assert.deepEqual(await shown(remote, id), { ...before, url: to });
});

test('a refused URL leaves the webhook unchanged', async (t) => {
  const remote = await startRemote(t);
  const id = await remote.webhook();
  const before = await shown(remote, id);
  const refused = await remote.verb('webhook', 'update', id, '--to', 'http://10.0.0.1/', '--rate', '5');
  assert.match(failureOf(refused), /"private".*\(error 42201\)$/);
  assert.deepEqual(await shown(remote, id), before);
});

test('a new secret is alone on standard output; a message says until when the old one signs', async (t) => {
  const { verb, webhook } = await startRemote(t);
  const id = await webhook();
  const { code, stdout, stderr } = await verb('webhook', 'rotate', id, '--overlap', '2h');
  assert.equal(code, 0, stderr);
  assert.match(stdout, new RegExp(`^${SECRET.source}\n$`));
  const [until = ''] = /(?<=until )\S+(?=\.\n$)/.exec(stderr) ?? [];
  const hours = (Date.parse(until) - Date.now()) / 3_600_000;
  assert.ok(hours > 1.9 && hours <= 2, stderr);

  const json = JSON.parse(dataOf(await verb('webhook', 'rotate', id, '--json')));
  assert.deepEqual(Object.keys(json), ['secret', 'overlapUntil']);
});

test('an overlap of 0 ends the old secret at once', async (t) => {
  const { verb, webhook, receiver } = await startRemote(t);
  const id = await webhook();
  assert.equal((await verb('webhook', 'rotate', id, '--overlap', '0')).code, 0);
  await verb('webhook', 'test', id, '--wait');
  const [request] = await receiver.receive(1);
  assert.match(String(request?.headers['webhook-signature']), /^v1,\S+ v1a,\S+$/);
});

test('a disabled webhook holds new deliveries, and sends them when enabled', async (t) => {
  const remote = await startRemote(t);
  const { verb, webhook, receiver, plant } = remote;
  const id = await webhook();
  assert.match(wordsOf(await verb('webhook', 'disable', id)), /are held, .*plant-store webhook enable wh_/);
  await plant('{"name":"Alder"}');
  assert.equal((await shown(remote, id)).status, 'disabled');
  assert.equal(receiver.received.length, 0);
  assert.equal(
    wordsOf(await verb('webhook', 'enable', id)),
    `Enabled the webhook ${id}. Waiting deliveries: 1.\n`,
  );
  await receiver.receive(1);
});

test('without a terminal a webhook is deleted only with --yes', async (t) => {
  const remote = await startRemote(t);
  const { verb, webhook } = remote;
  const id = await webhook();
  const { code, stdout, stderr } = await verb('webhook', 'delete', id);
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(stderr, /^error: no terminal to ask on; --yes deletes without asking\n/);
  assert.equal((await shown(remote, id)).id, id);

  const deleted = await verb('webhook', 'delete', id, '--yes');
  assert.equal(wordsOf(deleted), `Deleted the webhook ${id} and its deliveries.\n`);
  assert.match(failureOf(await verb('webhook', 'delete', id, '--yes')), /\(error 40402\)$/);
});

test('on a terminal webhook delete says what it deletes, and respects the answer', async (t) => {
  const reason = noTerminal();
  if (reason !== undefined) return t.skip(reason);
  const remote = await startRemote(t);
  const typing = (keys: string) => ({ env: remote.env, at: '[y/N]', keys });
  const id = await remote.webhook();
  wordsOf(await remote.verb('webhook', 'disable', id));
  await remote.plant('{"name":"Alder"}');

  const refused = await onTerminal(['webhook', 'delete', id], typing('n\n'));
  assert.match(refused, /This deletes the webhook to http:\S+ with its secrets and deliveries\.\r\n/);
  assert.match(refused, /Waiting deliveries that would never be sent: 1\./);
  assert.match(refused, /Delete it\? \[y\/N\] [\s\S]*error: Nothing was deleted\.\r\n$/);
  const interrupted = await onTerminal(['webhook', 'delete', id], typing('\u0004'));
  assert.match(interrupted, /error: Nothing was deleted\.\r\n$/);
  assert.equal((await shown(remote, id)).id, id);

  const agreed = await onTerminal(['webhook', 'delete', id], typing('y\n'));
  assert.match(agreed, /Deleted the webhook wh_\w+ and its deliveries\.\r\n$/);
});

test('every verb on an unknown webhook fails with its code', async (t) => {
  const { verb } = await startRemote(t);
  for (const args of [
    ['show', NONE],
    ['test', NONE],
    ['update', NONE, '--rate', 'none'],
    ['rotate', NONE],
    ['enable', NONE],
    ['disable', NONE],
    ['replay', NONE, '--since', '1h'],
  ]) {
    assert.match(failureOf(await verb('webhook', ...args)), /\(error 40402\)$/);
  }
});
