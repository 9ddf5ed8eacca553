import { type Command, InvalidArgumentError, Option } from 'commander';
import { type DeliveryState, deliveryStates } from '../webhooks/port.ts';
import { listOf } from './answer-reader.ts';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { deliveryPages, type Page } from './delivery-pages.ts';
import { deliveryHeadings, deliveryRow } from './delivery-view.ts';
import { examplesFirst } from './examples.ts';
import { parseWebhookId } from './ids.ts';
import { prettyJson } from './json.ts';
import { growingTable } from './table.ts';
import { outputAbandoned, print, say, writeJson } from './terminal.ts';

/** `delivery list WEBHOOK` */
export function deliveryList(delivery: Command): void {
  const command = delivery
    .command('list')
    .description('list the deliveries of a webhook, newest first')
    .argument('<webhook>', 'the id that webhook list shows: wh_…', parseWebhookId)
    .addOption(new Option('--state <state>', 'only those in this state').choices(deliveryStates))
    .option('--limit <number>', 'so many at most (default: 100)', parseLimit)
    .addOption(new Option('--all', 'all of them, however many there are').conflicts('limit'))
    .option('--json', 'print a JSON array')
    .configureHelp(
      examplesFirst(
        'delivery list wh_01k9f3zv7h8q2m5x4c6d0n1r8t',
        'delivery list wh_01k9f3zv7h8q2m5x4c6d0n1r8t --state failed --all',
        `delivery list wh_01k9f3zv7h8q2m5x4c6d0n1r8t --json | jq -r '.[] | [.event, .state] | @tsv'`,
      ),
    )
    .action(run);
  addApiOptions(command);
}

type ListFlags = ApiFlags & { state?: DeliveryState; limit?: number; all?: true; json?: true };

const DEFAULT_LIMIT = 100;

async function run(webhook: string, flags: ListFlags): Promise<void> {
  const limit = flags.all ? Number.POSITIVE_INFINITY : (flags.limit ?? DEFAULT_LIMIT);
  const query = { webhook, state: flags.state, limit, signal: outputAbandoned() };
  const pages = deliveryPages(readApi(process.env, flags), query);
  const more = flags.json ? await printArray(pages) : await printTable(pages);
  if (more && !flags.all) say('There are more: --all shows all of them, --limit another number.');
}

/** Resolves with whether there are deliveries behind those that were printed. */
async function printTable(pages: AsyncIterable<Page>): Promise<boolean> {
  const table = growingTable(deliveryHeadings);
  let printed = 0;
  let more = false;
  for await (const page of pages) {
    more = page.more;
    if (page.deliveries.length === 0) continue;
    print(...table.next(listOf(page.deliveries).map(deliveryRow)));
    printed += page.deliveries.length;
  }
  if (printed === 0) say('There are no such deliveries.');
  return more;
}

/** One array, however many pages it takes. */
async function printArray(pages: AsyncIterable<Page>): Promise<boolean> {
  let printed = 0;
  let more = false;
  for await (const page of pages) {
    more = page.more;
    for (const delivery of page.deliveries) {
      await writeJson((printed === 0 ? '[\n' : ',\n') + prettyJson(delivery).replace(/^/gm, '  '));
      printed++;
    }
  }
  await writeJson(printed === 0 ? '[]\n' : '\n]\n');
  return more;
}

function parseLimit(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be an integer from 1 to 999999999.');
}
