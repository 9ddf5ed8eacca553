import { setTimeout as pause } from 'node:timers/promises';
import { Option } from 'commander';
import type { Delivery, DeliveryWithHistory } from '../../../packages/client/src/schemas.ts';
import type { Webhooks } from '../../../packages/client/src/webhooks.ts';
import type { PlantId } from '../../plants/plant.ts';
import { type DeliveryState, deliveryStates } from '../../webhooks/port.ts';
import { serviceFor } from '../api.ts';
import type { ApiFlags } from '../api-options.ts';
import { Failure } from '../failure.ts';
import { display, waiting } from '../limits.ts';
import { pagesOf, parseLimit, printArray, printTable } from '../pages.ts';
import { type Field, renderFields, renderTable } from '../terminal/table.ts';
import {
  type Line,
  outputAbandoned,
  prettyJson,
  print,
  printJson,
  say,
  shellWord,
} from '../terminal/terminal.ts';
import { parseTime, sinceRule } from '../terminal/time.ts';
import { EVENT, eventId, option, parseId, remote, type Verbs, WEBHOOK, webhookId } from '../verb.ts';

type JsonFlags = ApiFlags & { json?: true };
type ListFlags = JsonFlags & {
  state?: DeliveryState;
  plant?: PlantId;
  since?: string;
  until?: string;
  limit?: number;
  all?: true;
};

const DEFAULT_LIMIT = 100;

/** As wide as their widest cells, so that the pages of a long list line up. */
const headings = [
  'EVENT'.padEnd(30),
  'TYPE'.padEnd(13),
  'STATE'.padEnd(9),
  'ATTEMPTS',
  'NEXT ATTEMPT'.padEnd(24),
  'PLANT',
  'NAME',
  'REASON',
  'WEBHOOK',
];

export const verbs: Verbs = remote({
  list: {
    description: 'list the deliveries of a webhook, or of all of them, newest first',
    arguments: [webhookId('[webhook]')],
    options: [
      option('--state <state>', 'only deliveries in this state').choices(deliveryStates),
      option('--plant <id>', 'only deliveries of plants with this id', parseId),
      option('--since <time>', `only deliveries of events since then: ${sinceRule}`, parseTime),
      option('--until <time>', 'only deliveries of events before then, in the same form', parseTime),
      option('--limit <number>', 'how many at most (default: 100)', parseLimit),
      new Option('--all', 'list all deliveries').conflicts('limit'),
      option('--json', 'print a JSON array'),
    ],
    examples: [
      `delivery list ${WEBHOOK}`,
      'delivery list --state failed --since 2h',
      `delivery list ${WEBHOOK} --state failed --all`,
      `delivery list ${WEBHOOK} --json | jq -r '.[] | [.event, .state] | @tsv'`,
    ],
    async run(flags: ListFlags, webhook: string | undefined) {
      const { state, plant, since, until, all } = flags;
      const { limit = all ? Infinity : DEFAULT_LIMIT } = flags;
      const { webhooks } = serviceFor(flags);
      // An unknown webhook is an error, and not an empty list.
      if (webhook !== undefined) await webhooks.get(webhook);
      const filters = { webhook, state, plant, since, until };
      const pages = pagesOf((page) => webhooks.allDeliveriesPage({ ...page, ...filters }), {
        limit,
        signal: outputAbandoned(),
      });
      // The last column is only for a list of all webhooks.
      const columns = webhook === undefined ? headings.length : headings.length - 1;
      const { isEmpty, hasMore } = await (flags.json
        ? printArray(pages, prettyJson)
        : printTable(pages, headings.slice(0, columns), (one) => rowOf(one).slice(0, columns)));
      if (isEmpty && !flags.json) say('No deliveries found.');
      if (hasMore && !all) say('There are more: --all lists all of them, --limit a different number.');
    },
  },
  show: {
    description: 'show a delivery with all of its attempts',
    arguments: [webhookId('<webhook>'), eventId()],
    options: [option('--json', 'print the answer as a JSON object')],
    examples: [
      `delivery show ${WEBHOOK} ${EVENT}`,
      `delivery show ${WEBHOOK} ${EVENT} --json | jq '.history[-1]'`,
    ],
    async run(flags: JsonFlags, webhook: string, event: string) {
      const delivery = await serviceFor(flags).webhooks.delivery(webhook, event);
      if (flags.json) printJson(delivery);
      else print(renderDelivery(delivery));
    },
  },
  redeliver: {
    description: 'resend an event now, whatever its state',
    arguments: [webhookId('<webhook>'), eventId()],
    options: [option('--json', 'print the answer as a JSON object')],
    examples: [`delivery redeliver ${WEBHOOK} ${EVENT}`],
    async run(flags: JsonFlags, webhook: string, event: string) {
      const delivery = await serviceFor(flags).webhooks.redeliver(webhook, event);
      if (flags.json) return printJson(delivery);
      const next = `Resending ${event}. To see the outcome: plant-store delivery show ${webhook} ${event}`;
      say(whyLater(delivery) ?? next);
    },
  },
});

function rowOf({ event, type, state, attempts, nextAttemptAt = '-', plant, reason = '', webhook }: Delivery) {
  return [event, type, state, String(attempts), nextAttemptAt, String(plant.id), plant.name, reason, webhook];
}

export function renderDelivery(delivery: DeliveryWithHistory): Line[] {
  const { plant, history } = delivery;
  const fields: Field[] = [
    ['Event', delivery.event],
    ['Type', delivery.type],
    ['Created', delivery.createdAt],
    ['Plant', String(plant.id)],
    ['Name', plant.name],
    ['Tag', plant.tag],
    ['State', delivery.state],
    ['Attempts', String(delivery.attempts)],
    ['Next attempt', delivery.nextAttemptAt],
    ['Reason', delivery.reason],
  ];
  if (history.length === 0) return renderFields(fields);
  const attempts = renderTable(
    ['ATTEMPT AT', 'DURATION', 'ADDRESS', 'STATUS', 'ANSWER'],
    history.map(attemptRow),
  );
  return [...renderFields(fields), '', ...attempts];
}

/**
 * Why a delivery is not sent soon, and how to send it; undefined when it is.
 * @param now in milliseconds; the service's clock may differ from the one here
 */
export function whyLater(
  { webhook, event, state, nextAttemptAt }: Delivery,
  now = Date.now(),
): string | undefined {
  const enable = `plant-store webhook enable ${shellWord(webhook)}`;
  if (state === 'held') return `The webhook is disabled, so ${event} is held. To send it: ${enable}`;
  if (nextAttemptAt === undefined || Date.parse(nextAttemptAt) <= now + 1_000) return undefined;
  return `${event} will not be sent before ${nextAttemptAt}. If the webhook is paused, end the pause: ${enable}`;
}

function attemptRow(attempt: DeliveryWithHistory['history'][number]): string[] {
  const { at, durationMs, address = '-', status = '-', error, excerpt = '' } = attempt;
  return [at, `${durationMs} ms`, address, String(status), error ?? firstLineOf(excerpt)];
}

function firstLineOf(text: string): string {
  const [line = ''] = text.trim().split(/[\r\n]/, 1);
  // By code points, to cut no character in two.
  const characters = [...line];
  const cut = characters.slice(0, display.excerptLength).join('');
  return characters.length > display.excerptLength ? `${cut}…` : cut;
}

/**
 * Waits for the first attempt of a delivery. Throws a `Failure` when none comes in time, or at once when none can.
 * @param sent the delivery as the service created it
 */
export async function firstAttempt(
  webhooks: Webhooks,
  sent: Delivery,
  withinMs: number = waiting.attemptMs,
): Promise<DeliveryWithHistory> {
  const { webhook, event } = sent;
  const end = Date.now() + withinMs;
  let seen = sent;
  for (let ms: number = waiting.lookMs.first; ; ms = Math.min(2 * ms, waiting.lookMs.most)) {
    const why = whyLater(seen, Date.parse(seen.createdAt) + withinMs);
    if (why !== undefined) throw new Failure(why);
    if (Date.now() >= end) break;
    await pause(Math.min(ms, end - Date.now()));
    const delivery = await webhooks.delivery(webhook, event);
    if (delivery.history.length > 0) return delivery;
    seen = delivery;
  }
  throw new Failure(
    `No attempt within ${withinMs / 1000} s: ${holdUp(seen)}. ` +
      `To see it later: plant-store delivery show ${shellWord(webhook)} ${shellWord(event)}`,
  );
}

/** Why no attempt was made yet. Without a next attempt, a replica may be sending it. */
function holdUp({ nextAttemptAt }: Delivery): string {
  return nextAttemptAt === undefined
    ? 'it is being sent, or others wait before it'
    : `it is due at ${nextAttemptAt}, and others wait before it`;
}
