import type { Command } from 'commander';
import { listOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { renderTable } from './table.ts';
import { print, printJson, say } from './terminal.ts';
import { webhookHeadings, webhookRow } from './webhook-view.ts';

/** `webhook list` */
export function webhookList(webhook: Command): void {
  const command = webhook
    .command('list')
    .description('list your webhooks with their health, oldest first')
    .option('--json', 'print the answer as a JSON array')
    .configureHelp(
      examplesFirst('webhook list', `webhook list --json | jq -r '.[] | select(.failed > 0) | .id'`),
    )
    .action(run);
  addApiOptions(command);
}

async function run(flags: ApiFlags & { json?: true }): Promise<void> {
  const { body } = await call(readApi(process.env, flags), 'GET', '/webhooks');
  if (flags.json) return printJson(body);
  const webhooks = listOf(body);
  if (webhooks.length === 0) return say('There are no webhooks. To make one: plant-store webhook create URL');
  print(...renderTable(webhookHeadings, webhooks.map(webhookRow)));
}
