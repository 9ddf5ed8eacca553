import { type Command, InvalidArgumentError } from 'commander';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { rateRule, readRate } from './rate.ts';
import { renderFields } from './table.ts';
import { print, printJson, say, shellWord } from './terminal.ts';
import { identityFields } from './webhook-view.ts';

/** `webhook create URL` */
export function webhookCreate(webhook: Command): void {
  const command = webhook
    .command('create')
    .description('make a webhook and print its secret, which cannot be shown again')
    .argument('<url>', 'where every new plant is sent to: an https URL with a public address')
    .option('--description <text>', 'what it is for')
    .option('--rate <number>', `attempts per second at most: ${rateRule}`, parseRate)
    .option('--json', 'print the whole answer, secret included, as a JSON object')
    .configureHelp(
      examplesFirst(
        'webhook create https://example.com/plants',
        "webhook create https://example.com/plants --description 'The greenhouse' --rate 20",
        'webhook create https://example.com/plants --json | jq -r .secret > secret',
      ),
    )
    .action(run);
  addApiOptions(command);
}

type CreateFlags = ApiFlags & { description?: string; rate?: number; json?: true };

async function run(url: string, flags: CreateFlags): Promise<void> {
  const { description, rate } = flags;
  const { body } = await call(readApi(process.env, flags), 'POST', '/webhooks', {
    body: { url, description, rate },
  });
  if (flags.json) return printJson(body);
  const made = membersOf(body);
  print(...renderFields([...identityFields(made), ['Secret', made.text('secret')]]));
  say(
    `The secret is shown only now. To try the receiver: plant-store webhook test ${shellWord(made.text('id'))} --wait`,
  );
}

function parseRate(text: string): number {
  const rate = readRate(text);
  if (rate !== undefined) return rate;
  throw new InvalidArgumentError(`It must be ${rateRule}.`);
}
