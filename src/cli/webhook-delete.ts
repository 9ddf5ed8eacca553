import type { Command } from 'commander';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type Api, type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { Failure } from './failure.ts';
import { parseWebhookId } from './ids.ts';
import { ask, refuseWithoutTerminal } from './question.ts';
import { insist, say } from './terminal.ts';

/** `webhook delete ID` */
export function webhookDelete(webhook: Command): void {
  const command = webhook
    .command('delete')
    .description('delete a webhook with all of its deliveries, those that wait included; asks first')
    .argument('<id>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .option('--yes', 'do not ask')
    .configureHelp(
      examplesFirst(
        'webhook delete wh_01k9f3zv7h8q2m5x4c6d0n1r8t',
        'webhook delete wh_01k9f3zv7h8q2m5x4c6d0n1r8t --yes',
      ),
    )
    .action(run);
  addApiOptions(command);
}

async function run(id: string, flags: ApiFlags & { yes?: true }, command: Command): Promise<void> {
  const api = readApi(process.env, flags);
  if (!flags.yes) {
    refuseWithoutTerminal(command);
    await confirm(api, id);
  }
  await call(api, 'DELETE', `/webhooks/${id}`);
  say(`Deleted the webhook ${id} and its deliveries.`);
}

/** Throws a `Failure` unless the person agrees. */
async function confirm(api: Api, id: string): Promise<void> {
  const webhook = membersOf((await call(api, 'GET', `/webhooks/${id}`)).body);
  const waiting = webhook.count('waiting');
  insist(
    `The webhook to ${webhook.text('url')} goes, with its secrets and the record of its deliveries.`,
    waiting === 0
      ? 'No delivery waits.'
      : `Deliveries that wait, and would never be sent: ${waiting}. "webhook disable" holds them instead.`,
  );
  if (!/^y(?:es)?$/i.test(await ask('Delete it? [y/N] '))) throw new Failure('Nothing was deleted.');
}
