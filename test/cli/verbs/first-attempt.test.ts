import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../src/cli/api.ts';
import { firstAttempt } from '../../../src/cli/service/first-attempt.ts';
import { dataOf, failureOf, type Remote, startRemote } from '../../../testkit/processes/remote.ts';

function webhooksOf({ service }: Remote) {
  return connect({ url: service.url, token: service.token }).webhooks;
}

/** Makes the webhook pause for an hour, and gives the end of that. */
async function pauseFor(remote: Remote, id: string): Promise<string> {
  const { receiver, plant, verb } = remote;
  receiver.script({ status: 503, headers: { 'retry-after': '3600' } });
  await plant('{"name":"Alder"}');
  for (;;) {
    const { pausedUntil } = JSON.parse(dataOf(await verb('webhook', 'show', id, '--json')));
    if (pausedUntil !== undefined) return pausedUntil;
  }
}

test('webhook test --wait does not wait for a webhook that pauses, and says until when and what helps', async (t) => {
  const remote = await startRemote(t);
  const id = await remote.webhook();
  const until = await pauseFor(remote, id);
  assert.equal(
    failureOf(await remote.verb('webhook', 'test', id, '--wait')),
    `error: There is no attempt before ${until}, which is not waited for. ` +
      `If the webhook pauses, this ends the pause: plant-store webhook enable ${id}`,
  );
  await remote.verb('webhook', 'enable', id);
  assert.match(dataOf(await remote.verb('webhook', 'test', id, '--wait')), /\nState +delivered\n/);
});

test('a webhook that is disabled while its test is waited for ends the waiting', async (t) => {
  const remote = await startRemote(t, { WEBHOOK_RETRY_SCHEDULE: '20s' });
  const webhooks = webhooksOf(remote);
  const webhook = await remote.webhook();
  const sent = await webhooks.test(webhook);
  const waited = assert.rejects(firstAttempt(webhooks, { webhook, sent }), {
    message: `The webhook is disabled, so the test event is held; it goes out with: plant-store webhook enable ${webhook}`,
  });
  await webhooks.update(webhook, { enabled: false });
  await waited;
});

test('after the time is up, the verb says when the attempt is due, or that others wait before it', async (t) => {
  const remote = await startRemote(t, { WEBHOOK_CONCURRENCY: '1' });
  const webhooks = webhooksOf(remote);
  const webhook = await remote.webhook();
  remote.receiver.usually('hang');
  await remote.plant('{"name":"Alder"}');
  await remote.receiver.receive(1);
  const sent = await webhooks.test(webhook);
  await assert.rejects(firstAttempt(webhooks, { webhook, sent, withinMs: 50 }), {
    message:
      /^There was no attempt within 0\.05 s: it is (?:due at 2\S+Z, and|under way, or) others wait before it\. To see it once there is one: plant-store delivery show wh_\w+ evt_\w+$/,
  });
});
