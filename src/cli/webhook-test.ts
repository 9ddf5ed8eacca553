import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { failureOf } from '../webhooks/attempt.ts';
import { type Members, membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type Api, type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { renderDelivery } from './delivery-view.ts';
import { examples } from './examples.ts';
import { Failure } from './failure.ts';
import { parseWebhookId } from './ids.ts';
import { type JsonValue, prettyJson } from './json.ts';
import { waiting } from './limits.ts';
import { print, say } from './terminal.ts';

/** `webhook test ID` */
export function webhookTest(webhook: Command): void {
  const command = webhook
    .command('test')
    .description('send a plant.test event the way of every other and print its id')
    .argument('<id>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .option('--wait', 'wait for the first attempt and show it; the exit code is 1 when it failed')
    .option('--json', 'print the delivery as a JSON object')
    .addHelpText(
      'after',
      examples(
        'webhook test wh_01k9f3zv7h8q2m5x4c6d0n1r8t --wait',
        'webhook test wh_01k9f3zv7h8q2m5x4c6d0n1r8t --wait --json | jq .history',
      ),
    )
    .action(run);
  addApiOptions(command);
}

async function run(id: string, flags: ApiFlags & { wait?: true; json?: true }): Promise<void> {
  const api = readApi(process.env, flags);
  const { body: sent } = await call(api, 'POST', `/webhooks/${id}/test`);
  const event = membersOf(sent).text('event');
  const show = `plant-store delivery show ${id} ${event}`;
  if (!flags.wait) {
    print(flags.json ? prettyJson(sent) : event);
    return say(`To see the outcome: ${show}`);
  }
  if (membersOf(sent).text('state') === 'held') {
    throw new Failure(
      `The webhook is disabled, so the test event is held; it goes out with: plant-store webhook enable ${id}`,
    );
  }
  const tried = await untilTried(api, `/webhooks/${id}/deliveries/${event}`);
  if (tried === undefined) {
    throw new Failure(
      `There was no attempt within ${waiting.attemptMs / 1000} s. To see it once there is one: ${show}`,
    );
  }
  const delivery = membersOf(tried);
  print(flags.json ? prettyJson(tried) : renderDelivery(delivery, process.stdout));
  const reason = failureOfFirst(delivery);
  if (reason !== undefined) throw new Failure(`The test failed: ${reason}`);
}

/** The delivery as soon as an attempt was made; undefined when there was none in time. */
async function untilTried(api: Api, path: string): Promise<JsonValue | undefined> {
  const end = Date.now() + waiting.attemptMs;
  for (let ms: number = waiting.lookMs.first; Date.now() < end; ms = Math.min(2 * ms, waiting.lookMs.most)) {
    await pause(ms);
    const { body } = await call(api, 'GET', path);
    if (membersOf(body).list('history').length > 0) return body;
  }
  return undefined;
}

/** Why the first attempt failed; undefined for one that delivered. */
function failureOfFirst(delivery: Members): string | undefined {
  const [first] = delivery.list('history');
  const status = first?.optionalCount('status');
  const error = first?.optionalText('error');
  return failureOf({
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
  });
}
