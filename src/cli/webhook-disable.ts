import type { Command } from 'commander';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { parseWebhookId } from './ids.ts';
import { say } from './terminal.ts';

/** `webhook disable ID` */
export function webhookDisable(webhook: Command): void {
  const command = webhook
    .command('disable')
    .description('hold all deliveries of a webhook until it is enabled again')
    .argument('<id>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .configureHelp(examplesFirst('webhook disable wh_01k9f3zv7h8q2m5x4c6d0n1r8t'))
    .action(run);
  addApiOptions(command);
}

async function run(id: string, flags: ApiFlags): Promise<void> {
  await call(readApi(process.env, flags), 'PATCH', `/webhooks/${id}`, { body: { enabled: false } });
  say(
    `Disabled the webhook ${id}. Its deliveries are held, new ones too; they go out with: plant-store webhook enable ${id}`,
  );
}
