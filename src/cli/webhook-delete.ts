import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import { type Api, type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examples } from './examples.ts';
import { Failure } from './failure.ts';
import { parseWebhookId } from './ids.ts';
import { say, visible } from './terminal.ts';

/** `webhook delete ID` */
export function webhookDelete(webhook: Command): void {
  const command = webhook
    .command('delete')
    .description('delete a webhook with all of its deliveries, those that wait included; asks first')
    .argument('<id>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
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
    if (!process.stdin.isTTY || !process.stderr.isTTY) {
      command.error('error: there is no terminal to ask on; --yes deletes without asking', { exitCode: 2 });
    }
    await confirm(api, id);
  }
  await call(api, 'DELETE', `/webhooks/${id}`);
  say(`Deleted the webhook ${id} and its deliveries.`);
}

/** Throws a `Failure` unless the person agrees. */
async function confirm(api: Api, id: string): Promise<void> {
  const webhook = membersOf((await call(api, 'GET', `/webhooks/${id}`)).body);
  const waiting = webhook.count('waiting');
  say(
    `The webhook to ${visible(webhook.text('url'))} goes, with its secrets and the record of its deliveries.\n` +
      (waiting === 0
        ? 'No delivery waits.'
        : `Deliveries that wait, and would never be sent: ${waiting}. "webhook disable" holds them instead.`),
  );
  if (!/^y(?:es)?$/i.test(await ask('Delete it? [y/N] '))) throw new Failure('Nothing was deleted.');
}

/** The empty text when the person ends the input (Ctrl+D) or interrupts (Ctrl+C). */
async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = once(terminal, 'close').then(() => undefined);
  const answer = await Promise.race([terminal.question(question), closed]).catch(() => undefined);
  terminal.close();
  // Nobody has ended the line of the question.
  if (answer === undefined) say('');
  return answer?.trim() ?? '';
}
