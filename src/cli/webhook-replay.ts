import { type Command, InvalidArgumentError, Option } from 'commander';
import { deliveryStates } from '../webhooks/port.ts';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { parseWebhookId } from './ids.ts';
import { printJson, say } from './terminal.ts';
import { parseSince, sinceRule } from './time.ts';

/** `webhook replay ID --since TIME` */
export function webhookReplay(webhook: Command): void {
  const command = webhook
    .command('replay')
    .description('send every event since a time again, those from before the webhook was made included')
    .argument('<id>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .requiredOption('--since <time>', sinceRule, parseTime)
    .addOption(
      new Option('--state <state>', 'only what is in this state (default: every event)').choices(
        deliveryStates,
      ),
    )
    .option('--json', 'print a JSON object {count}')
    .configureHelp(
      examplesFirst(
        'webhook replay wh_01k9f3zv7h8q2m5x4c6d0n1r8t --since 2h',
        'webhook replay wh_01k9f3zv7h8q2m5x4c6d0n1r8t --since 2026-11-21T09:00:00Z --state failed',
      ),
    )
    .action(run);
  addApiOptions(command);
}

type ReplayFlags = ApiFlags & { since: string; state?: string; json?: true };

async function run(id: string, flags: ReplayFlags): Promise<void> {
  const { since, state } = flags;
  const api = readApi(process.env, flags);
  const { body } = await call(api, 'POST', `/webhooks/${id}/replay`, { body: { since, state } });
  if (flags.json) return printJson(body);
  const count = membersOf(body).count('count');
  say(
    count === 0
      ? `There is nothing to send again since ${since}.`
      : `Events since ${since} that are sent again: ${count}. To follow them: plant-store delivery list ${id}`,
  );
}

function parseTime(text: string): string {
  const since = parseSince(text, Date.now());
  if (since !== undefined) return since;
  throw new InvalidArgumentError(`It must be ${sinceRule}.`);
}
