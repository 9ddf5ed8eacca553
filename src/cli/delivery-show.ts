import type { Command } from 'commander';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { renderDelivery } from './delivery-view.ts';
import { examplesFirst } from './examples.ts';
import { parseEventId, parseWebhookId } from './ids.ts';
import { print, printJson } from './terminal.ts';

/** `delivery show WEBHOOK EVENT` */
export function deliveryShow(delivery: Command): void {
  const command = delivery
    .command('show')
    .description('show a delivery with every attempt that was made')
    .argument('<webhook>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .argument('<event>', 'the id that delivery list shows: evt_…', parseEventId)
    .option('--json', 'print the answer as a JSON object')
    .configureHelp(
      examplesFirst(
        'delivery show wh_01k9f3zv7h8q2m5x4c6d0n1r8t evt_01m7xzsn3sskhbnh27akn17wp9',
        "delivery show wh_01k9f3zv7h8q2m5x4c6d0n1r8t evt_01m7xzsn3sskhbnh27akn17wp9 --json | jq '.history[-1]'",
      ),
    )
    .action(run);
  addApiOptions(command);
}

async function run(webhook: string, event: string, flags: ApiFlags & { json?: true }): Promise<void> {
  const { body } = await call(readApi(process.env, flags), 'GET', `/webhooks/${webhook}/deliveries/${event}`);
  if (flags.json) return printJson(body);
  print(...renderDelivery(membersOf(body)));
}
