import { Option } from 'commander';
import type { Delivery } from '../../../packages/client/src/schemas.ts';
import type { PlantId } from '../../plants/plant.ts';
import { type DeliveryState, deliveryStates } from '../../webhooks/port.ts';
import { serviceFor } from '../api.ts';
import type { ApiFlags } from '../api-options.ts';
import { pagesOf, parseLimit, printArray, printTable } from '../pages.ts';
import { outputAbandoned, prettyJson, print, printJson, say } from '../terminal/terminal.ts';
import { parseTime, sinceRule } from '../terminal/time.ts';
import { eventId, option, parseId, type Verbs, webhookId } from '../verb.ts';
import { deliveryHeadings, deliveryRow, renderDelivery, whyLater } from './delivery-view.ts';

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

export const verbs: Verbs = {
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
      'delivery list wh_01k9f3zv7h8q2m5x4c6d0n1r8t',
      'delivery list --state failed --since 2h',
      'delivery list wh_01k9f3zv7h8q2m5x4c6d0n1r8t --state failed --all',
      `delivery list wh_01k9f3zv7h8q2m5x4c6d0n1r8t --json | jq -r '.[] | [.event, .state] | @tsv'`,
    ],
    isRemote: true,
    async run(flags: ListFlags, webhook: string | undefined) {
      const { state, plant, since, until, all } = flags;
      const { limit = all ? Number.POSITIVE_INFINITY : DEFAULT_LIMIT } = flags;
      const { webhooks } = serviceFor(flags);
      // An unknown webhook is an error, and not an empty list.
      if (webhook !== undefined) await webhooks.get(webhook);
      const filters = { webhook, state, plant, since, until };
      const pages = pagesOf((page) => webhooks.allDeliveriesPage({ ...page, ...filters }), {
        limit,
        signal: outputAbandoned(),
      });
      const [headings, row] =
        webhook === undefined
          ? [[...deliveryHeadings, 'WEBHOOK'], (one: Delivery) => [...deliveryRow(one), one.webhook]]
          : [deliveryHeadings, deliveryRow];
      const { isEmpty, hasMore } = await (flags.json
        ? printArray(pages, prettyJson)
        : printTable(pages, headings, row));
      if (isEmpty && !flags.json) say('No deliveries found.');
      if (hasMore && !all) say('There are more: --all lists all of them, --limit a different number.');
    },
  },
  show: {
    description: 'show a delivery with all of its attempts',
    arguments: [webhookId('<webhook>'), eventId()],
    options: [option('--json', 'print the answer as a JSON object')],
    examples: [
      'delivery show wh_01k9f3zv7h8q2m5x4c6d0n1r8t evt_01m7xzsn3sskhbnh27akn17wp9',
      "delivery show wh_01k9f3zv7h8q2m5x4c6d0n1r8t evt_01m7xzsn3sskhbnh27akn17wp9 --json | jq '.history[-1]'",
    ],
    isRemote: true,
    async run(flags: JsonFlags, webhook: string, event: string) {
      const delivery = await serviceFor(flags).webhooks.delivery(webhook, event);
      if (flags.json) printJson(delivery);
      else print(...renderDelivery(delivery));
    },
  },
  redeliver: {
    description: 'resend an event now, whatever its state',
    arguments: [webhookId('<webhook>'), eventId()],
    options: [option('--json', 'print the answer as a JSON object')],
    examples: ['delivery redeliver wh_01k9f3zv7h8q2m5x4c6d0n1r8t evt_01m7xzsn3sskhbnh27akn17wp9'],
    isRemote: true,
    async run(flags: JsonFlags, webhook: string, event: string) {
      const delivery = await serviceFor(flags).webhooks.redeliver(webhook, event);
      if (flags.json) return printJson(delivery);
      const next = `Resending ${event}. To see the outcome: plant-store delivery show ${webhook} ${event}`;
      say(whyLater(delivery) ?? next);
    },
  },
};
