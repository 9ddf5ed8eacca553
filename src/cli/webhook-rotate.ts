import { type Command, InvalidArgumentError } from 'commander';
import { delivery } from '../limits.ts';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { parseWebhookId } from './ids.ts';
import { print, printJson, say } from './terminal.ts';
import { parseDuration } from './time.ts';

/** `webhook rotate ID` */
export function webhookRotate(webhook: Command): void {
  const command = webhook
    .command('rotate')
    .description('give a webhook a new secret and print it; it cannot be shown again')
    .argument('<id>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .option(
      '--overlap <duration>',
      `how long the old secret keeps signing beside it: ${OVERLAP_RULE} (default: 24h)`,
      parseOverlap,
    )
    .option('--json', 'print a JSON object {secret, overlapUntil}')
    .configureHelp(
      examplesFirst(
        'webhook rotate wh_01k9f3zv7h8q2m5x4c6d0n1r8t > secret',
        'webhook rotate wh_01k9f3zv7h8q2m5x4c6d0n1r8t --overlap 7d',
      ),
    )
    .action(run);
  addApiOptions(command);
}

/** `overlap` in seconds. */
type RotateFlags = ApiFlags & { overlap?: number; json?: true };

async function run(id: string, flags: RotateFlags): Promise<void> {
  const path = `/webhooks/${id}/rotate-secret`;
  const { overlap } = flags;
  const { body } = await call(readApi(process.env, flags), 'POST', path, { body: { overlap } });
  if (flags.json) return printJson(body);
  const rotated = membersOf(body);
  print(rotated.text('secret'));
  const old = overlap === 0 ? 'signs no more' : `signs beside it until ${rotated.text('overlapUntil')}`;
  say(`The webhook ${id} has a new secret, shown only now. The old one ${old}.`);
}

const MOST_DAYS = delivery.overlapSeconds.most / 86_400;
const OVERLAP_RULE = `a duration such as 30m, 12h or 7d, at most ${MOST_DAYS}d; or 0, which ends the old one now`;

function parseOverlap(text: string): number {
  const seconds = text === '0' ? 0 : (parseDuration(text) ?? Number.NaN) / 1000;
  if (seconds <= delivery.overlapSeconds.most) return seconds;
  throw new InvalidArgumentError(`It must be ${OVERLAP_RULE}.`);
}
