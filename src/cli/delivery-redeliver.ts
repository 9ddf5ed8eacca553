import type { Command } from 'commander';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { parseEventId, parseWebhookId } from './ids.ts';
import { printJson, say } from './terminal.ts';

/** `delivery redeliver WEBHOOK EVENT` */
export function deliveryRedeliver(delivery: Command): void {
  const command = delivery
    .command('redeliver')
    .description('send an event again now, whatever became of it')
    .argument('<webhook>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .argument('<event>', 'the id that delivery list shows: evt_…', parseEventId)
    .option('--json', 'print the answer as a JSON object')
    .configureHelp(
      examplesFirst('delivery redeliver wh_01k9f3zv7h8q2m5x4c6d0n1r8t evt_01m7xzsn3sskhbnh27akn17wp9'),
    )
    .action(run);
  addApiOptions(command);
}

async function run(webhook: string, event: string, flags: ApiFlags & { json?: true }): Promise<void> {
  const path = `/webhooks/${webhook}/deliveries/${event}/redeliver`;
  const { body } = await call(readApi(process.env, flags), 'POST', path);
  if (flags.json) return printJson(body);
  if (membersOf(body).text('state') === 'held') {
    return say(
      `The webhook is disabled, so ${event} is held; it goes out with: plant-store webhook enable ${webhook}`,
    );
  }
  say(`${event} is sent again. To see the outcome: plant-store delivery show ${webhook} ${event}`);
}
