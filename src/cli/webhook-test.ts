import type { Command } from 'commander';
import { failureOf } from '../webhooks/attempt.ts';
import { type Members, membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { renderDelivery } from './delivery-view.ts';
import { examplesFirst } from './examples.ts';
import { Failure } from './failure.ts';
import { firstAttempt } from './first-attempt.ts';
import { parseWebhookId } from './ids.ts';
import { print, printJson, say, shellWord } from './terminal.ts';

/** `webhook test ID` */
export function webhookTest(webhook: Command): void {
  const command = webhook
    .command('test')
    .description('send a plant.test event the way of every other and print its id')
    .argument('<id>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .option('--wait', 'wait for the first attempt and show it; the exit code is 1 when it failed')
    .option('--json', 'print the delivery as a JSON object')
    .configureHelp(
      examplesFirst(
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
  if (!flags.wait) {
    if (flags.json) printJson(sent);
    else print(event);
    return say(`To see the outcome: plant-store delivery show ${id} ${shellWord(event)}`);
  }
  const tried = await firstAttempt(api, { webhook: id, sent });
  const delivery = membersOf(tried);
  if (flags.json) printJson(tried);
  else print(...renderDelivery(delivery));
  const reason = failureOfFirst(delivery);
  if (reason !== undefined) throw new Failure(`The test failed: ${reason}`);
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
