import type { Command } from 'commander';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { parseWebhookId } from './ids.ts';
import { renderFields } from './table.ts';
import { print, printJson } from './terminal.ts';
import { healthFields, identityFields } from './webhook-view.ts';

/** `webhook show ID` */
export function webhookShow(webhook: Command): void {
  const command = webhook
    .command('show')
    .description('show a webhook and how it does')
    .argument('<id>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .option('--json', 'print the answer as a JSON object')
    .configureHelp(
      examplesFirst(
        'webhook show wh_01k9f3zv7h8q2m5x4c6d0n1r8t',
        'webhook show wh_01k9f3zv7h8q2m5x4c6d0n1r8t --json | jq .waiting',
      ),
    )
    .action(run);
  addApiOptions(command);
}

async function run(id: string, flags: ApiFlags & { json?: true }): Promise<void> {
  const { body } = await call(readApi(process.env, flags), 'GET', `/webhooks/${id}`);
  if (flags.json) return printJson(body);
  const webhook = membersOf(body);
  print(...renderFields([...identityFields(webhook), ...healthFields(webhook)]));
}
