import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../src/cli/api.ts';
import { firstAttempt } from '../../../src/cli/verbs/delivery.ts';
import { dataOf, failureOf, type Remote, startRemote } from '../../../testkit/processes/remote.ts';

function webhooksOf({ service }: Remote) {
  return connect({ url: service.url, token: service.token }).webhooks;
}

/** Makes the webhook pause for an hour; returns the end of the pause. */
async function pauseFor(remote: Remote, id: string): Promise<string> {
  const { receiver, plant, verb } = remote;
  receiver.script({ status: 503, headers: { 'retry-after': '3600' } });
  await plant('{"name":"Alder"}');
  for (;;) {
    const { pausedUntil } = JSON.parse(dataOf(await verb('webhook', 'show', id, '--json')));
    if (pausedUntil !== undefined) return pausedUntil;
  }
}

test('webhook test --wait does not wait for a paused webhook, and says until when and what helps', async (t) => {
  const remote = await startRemote(t);
  const id = await remote.webhook();
  const until = await pauseFor(remote, id);
  const [event, ...rest] = failureOf(await remote.verb('webhook', 'test', id, '--wait')).split(
    ' will not be sent ',
  );
  assert.match(event ?? '', /^error: evt_\w+$/);
  assert.deepEqual(rest, [
    `before ${until}. If the webhook is paused, end the pause: plant-store webhook enable ${id}`,
  ]);
  await remote.verb('webhook', 'enable', id);
  assert.match(dataOf(await remote.verb('webhook', 'test', id, '--wait')), /\nState +delivered\n/);
});

test('disabling a webhook ends the wait for its test', async (t) => {
  const remote = await startRemote(t, { WEBHOOK_RETRY_SCHEDULE: '20s' });
  const webhooks = webhooksOf(remote);
  const webhook = await remote.webhook();
  const sent = await webhooks.test(webhook);
  const waited = assert.rejects(firstAttempt(webhooks, sent), {
    message: `The webhook is disabled, so ${sent.event} is held. To send it: plant-store webhook enable ${webhook}`,
  });
  await webhooks.update(webhook, { enabled: false });
  await waited;
});

test('when time is up, the verb says when the attempt is due, or that others wait before it', async (t) => {
  const remote = await startRemote(t, { WEBHOOK_CONCURRENCY: '1' });
  const webhooks = webhooksOf(remote);
  const webhook = await remote.webhook();
  remote.receiver.usually('hang');
  await remote.plant('{"name":"Alder"}');
  await remote.receiver.receive(1);
  const sent = await webhooks.test(webhook);
  await assert.rejects(firstAttempt(webhooks, sent, 50), {
    message:
      /^No attempt within 0\.05 s: it is (?:due at 2\S+Z, and|being sent, or) others wait before it\. To see it later: plant-store delivery show wh_\w+ evt_\w+$/,
  });
});
