import type { FastifyReply } from 'fastify';
import { AppError } from '../../errors.ts';
import { feeds as limits } from '../../limits.ts';
import { Id } from '../../plants/plant.ts';
import {
  getDelivery,
  listDeliveries,
  ReplayInput,
  redeliver,
  replay,
  testWebhook,
} from '../../webhooks/delivery-operations.ts';
import {
  DeliveryView,
  DeliveryWithHistory,
  deliveryJson,
  deliveryWithHistoryJson,
} from '../../webhooks/delivery-view.ts';
import { findWebhook } from '../../webhooks/operations.ts';
import { type Delivery, type DeliveryPosition, deliveryStates } from '../../webhooks/port.ts';
import { DateTime, parseDateTime } from '../../webhooks/time.ts';
import { noCursor } from '../request/cursor.ts';
import { EmptyInput, type Operations, PAGE_CURSOR, pageLimit, pathText, type ValuesOf } from './operation.ts';
import type { RouteContext } from './route.ts';

const OF_WEBHOOK = { id: pathText('the id of the webhook') };
const OF_DELIVERY = { ...OF_WEBHOOK, event: pathText('the id of the event') };

const State = {
  enum: deliveryStates,
  description: `one of ${deliveryStates.join(', ')}: only deliveries in this state; without it, all`,
} as const;
const Page = { limit: pageLimit('deliveries'), cursor: PAGE_CURSOR };
const WebhookQuery = { state: State, ...Page };

/** Of a list of all deliveries. */
const Filters = {
  webhook: {
    type: 'string',
    description: 'the id of a webhook: only its deliveries; without it, of all webhooks',
  },
  state: State,
  plant: { ...Id, description: `${Id.description}: only deliveries of plants with this id` },
  since: { ...DateTime, description: `${DateTime.description}: only deliveries of events from this time on` },
  until: { ...DateTime, description: `${DateTime.description}: only deliveries of events before this time` },
} as const;

const AllQuery = { ...Filters, ...Page };
type AllQuery = ValuesOf<typeof AllQuery>;

const PAGE_OF_DELIVERIES = {
  status: 200,
  description: 'The deliveries.',
  schema: { type: 'array', items: DeliveryView },
  headers: { Link: 'When there are more: the URL of the next page, as `<…>; rel="next"`.' },
} as const;

const accepted = (description: string) => ({
  status: 202,
  description,
  schema: DeliveryView,
  headers: { Location: 'The path of the delivery.' },
});

export const deliveriesOperations = {
  testWebhook: {
    method: 'POST',
    url: '/webhooks/:id/test',
    scope: 'webhooks:write',
    summary: 'Send a test event',
    description:
      'Sends an event of the type `plant.test` to this webhook alone: signed, listed and retried like any other.',
    path: OF_WEBHOOK,
    body: EmptyInput,
    success: accepted('The delivery of the test event.'),
    failures: [40402],
  },
  listDeliveries: {
    method: 'GET',
    url: '/webhooks/:id/deliveries',
    scope: 'webhooks:read',
    summary: 'List deliveries',
    description: 'Returns the deliveries of the webhook, newest first.',
    query: WebhookQuery,
    path: OF_WEBHOOK,
    success: PAGE_OF_DELIVERIES,
    failures: [40007, 40402],
  },
  getDelivery: {
    method: 'GET',
    url: '/webhooks/:id/deliveries/:event',
    scope: 'webhooks:read',
    summary: 'Get a delivery',
    description: 'Returns the delivery with its attempts: the time, the address and the response of each.',
    path: OF_DELIVERY,
    success: { status: 200, description: 'The delivery.', schema: DeliveryWithHistory },
    failures: [40402, 40403],
  },
  redeliver: {
    method: 'POST',
    url: '/webhooks/:id/deliveries/:event/redeliver',
    scope: 'webhooks:write',
    summary: 'Redeliver an event',
    description:
      'Makes the delivery due now, whatever its state, and restarts its retry schedule. It is held while the ' +
      'webhook is disabled.',
    path: OF_DELIVERY,
    body: EmptyInput,
    success: accepted('The delivery as it is now.'),
    failures: [40402, 40403],
  },
  replay: {
    method: 'POST',
    url: '/webhooks/:id/replay',
    scope: 'webhooks:write',
    summary: 'Replay events',
    description:
      'Resends what happened since a time: every event of the plants that you have access to, or the ' +
      'deliveries in one state. The replay survives a restart, and each delivery is retried like a new one.',
    path: OF_WEBHOOK,
    body: ReplayInput,
    success: {
      status: 202,
      description: 'The replay is stored.',
      schema: {
        type: 'object',
        required: ['count'],
        properties: { count: { type: 'integer', minimum: 0, description: 'how many deliveries it sends' } },
      },
    },
    failures: [40402, 40902],
  },
  listAllDeliveries: {
    method: 'GET',
    url: '/deliveries',
    scope: 'webhooks:read',
    summary: 'List the deliveries of all webhooks',
    description:
      'Returns the deliveries of your webhooks, newest event first; those of one event by descending webhook id. A ' +
      'page may have fewer deliveries than `limit` although more follow: only `Link` tells. It takes the same time ' +
      'however many deliveries there are, except with `state=delivered` on PostgreSQL, which also reads the ' +
      'undelivered ones in between.',
    query: AllQuery,
    success: PAGE_OF_DELIVERIES,
    failures: [40007],
  },
} satisfies Operations;

/** What was sent to a webhook or to all of them, what is pending, and how to send it again. */
export function deliveriesRoutes(context: RouteContext): void {
  const { webhooks, basePath, route, post } = context;
  listRoutes(context);
  route(deliveriesOperations.getDelivery, async ({ params, principal }) => {
    const { delivery, attempts } = await getDelivery(webhooks, principal.user.id, params.id, params.event);
    return deliveryWithHistoryJson(delivery, attempts);
  });

  const acceptedDelivery = {
    location: ({ webhook, event }: Delivery) => `${basePath}/webhooks/${webhook}/deliveries/${event.id}`,
    json: deliveryJson,
  };
  post(deliveriesOperations.testWebhook, {
    ...acceptedDelivery,
    write: ({ params, principal }, callerFor) =>
      testWebhook(webhooks, principal.user.id, params.id, callerFor),
  });
  post(deliveriesOperations.redeliver, {
    ...acceptedDelivery,
    write: ({ params, principal }, callerFor) =>
      redeliver(webhooks, principal.user.id, params.id, params.event, callerFor),
  });
  post(deliveriesOperations.replay, {
    json: (count: number) => JSON.stringify({ count }),
    write: ({ params, body, principal }, callerFor) =>
      replay(webhooks, principal.user.id, params.id, body, callerFor),
  });
}

function listRoutes({ webhooks, basePath, cursors, route }: RouteContext): void {
  async function answer(reply: FastifyReply, path: string, query: AllQuery, webhook = query.webhook) {
    const { state, plant, cursor, limit = limits.page } = query;
    const owner = reply.request.principal.user.id;
    const filters = filtersIn(query);
    // Each combination of filters is a list of its own.
    const origin = { list: `${path}?${filters}`, user: owner };
    const { deliveries, next } = await listDeliveries(webhooks, {
      ...{ owner, webhook, state, plant, limit },
      since: timeIn('since', query.since),
      until: timeIn('until', query.until),
      after: cursor === undefined ? undefined : positionIn(cursors.open(cursor, origin)),
    });
    if (next) {
      const sealed = cursors.seal(`${next.event}.${next.webhook}`, origin);
      const rest = `cursor=${sealed}${filters.size > 0 ? `&${filters}` : ''}`;
      reply.header('link', `<${basePath}${path}?limit=${limit}&${rest}>; rel="next"`);
    }
    return `[${deliveries.map(deliveryJson).join()}]`;
  }

  route(deliveriesOperations.listDeliveries, async ({ params: { id }, query, principal }, reply) => {
    await findWebhook(webhooks, principal.user.id, id);
    return answer(reply, `/webhooks/${id}/deliveries`, query, id);
  });
  route(deliveriesOperations.listAllDeliveries, ({ query }, reply) => answer(reply, '/deliveries', query));
}

/** In a fixed order. */
function filtersIn(query: AllQuery): URLSearchParams {
  const names = Object.keys(Filters) as (keyof typeof Filters)[];
  const given = names.filter((name) => query[name] !== undefined);
  return new URLSearchParams(given.map((name) => [name, String(query[name])]));
}

function positionIn(position: string): DeliveryPosition {
  const [, event, webhook] = /^(\w+)\.(\w*)$/.exec(position) ?? [];
  if (event === undefined || webhook === undefined) throw noCursor();
  return { event, webhook };
}

function timeIn(name: 'since' | 'until', text: string | undefined): number | undefined {
  // In a query, a `+` is a space: many clients do not encode that of an offset.
  const ms = text === undefined ? undefined : parseDateTime(text.replace(' ', '+'));
  if (text === undefined || ms !== undefined) return ms;
  throw new AppError(40003, `The query parameter "${name}" must be ${Filters[name].description}.`);
}
