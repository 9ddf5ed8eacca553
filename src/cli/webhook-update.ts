import { type Command, InvalidArgumentError } from 'commander';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { parseWebhookId } from './ids.ts';
import { rateRule, readRate } from './rate.ts';
import { renderFields } from './table.ts';
import { print, printJson, say } from './terminal.ts';
import { identityFields } from './webhook-view.ts';

/** `webhook update ID` */
export function webhookUpdate(webhook: Command): void {
  const command = webhook
    .command('update')
    .description('change where a webhook points, its description or its rate; its secret stays')
    .argument('<id>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .option('--to <url>', 'where every new plant is sent to from now on: an https URL with a public address')
    .option('--description <text>', "what it is for; '' takes the description away")
    .option('--rate <number>', `attempts per second at most: ${RATE_RULE}`, parseRate)
    .option('--json', 'print the answer as a JSON object')
    .configureHelp(
      examplesFirst(
        'webhook update wh_01k9f3zv7h8q2m5x4c6d0n1r8t --to https://example.com/new',
        "webhook update wh_01k9f3zv7h8q2m5x4c6d0n1r8t --description 'The greenhouse' --rate none",
      ),
    )
    .action(run);
  addApiOptions(command);
}

type UpdateFlags = ApiFlags & { to?: string; description?: string; rate?: number | 'none'; json?: true };

async function run(id: string, flags: UpdateFlags, command: Command): Promise<void> {
  const { to: url } = flags;
  const rate = flags.rate === 'none' ? null : flags.rate;
  const description = flags.description === '' ? null : flags.description;
  if (url === undefined && description === undefined && rate === undefined) {
    command.error('error: nothing to change; it takes --to, --description or --rate', { exitCode: 2 });
  }
  const { body } = await call(readApi(process.env, flags), 'PATCH', `/webhooks/${id}`, {
    body: { url, description, rate },
  });
  if (flags.json) return printJson(body);
  print(...renderFields(identityFields(membersOf(body))));
  if (url !== undefined) say(`To try the receiver: plant-store webhook test ${id} --wait`);
}

const RATE_RULE = `${rateRule}, or none for no bound`;

/** Not null for none: of that the parser of the command line makes an empty text. */
function parseRate(text: string): number | 'none' {
  const rate = text === 'none' ? text : readRate(text);
  if (rate !== undefined) return rate;
  throw new InvalidArgumentError(`It must be ${RATE_RULE}.`);
}
