import type { Command } from 'commander';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { parseWebhookId } from './ids.ts';
import { say } from './terminal.ts';

/** `webhook enable ID` */
export function webhookEnable(webhook: Command): void {
  const command = webhook
    .command('enable')
    .description('send to a webhook again, beginning with what was held')
    .argument('<id>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .configureHelp(examplesFirst('webhook enable wh_01k9f3zv7h8q2m5x4c6d0n1r8t'))
    .action(run);
  addApiOptions(command);
}

async function run(id: string, flags: ApiFlags): Promise<void> {
  const api = readApi(process.env, flags);
  const { body } = await call(api, 'PATCH', `/webhooks/${id}`, { body: { enabled: true } });
  const waiting = membersOf(body).count('waiting');
  say(`Enabled the webhook ${id}. ${waiting === 0 ? 'Nothing waits.' : `Deliveries that wait: ${waiting}.`}`);
}
