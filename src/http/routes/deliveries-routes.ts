import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FromSchema } from 'json-schema-to-ts';
import { feeds as limits } from '../../limits.ts';
import { getDelivery, listDeliveries, redeliver, testWebhook } from '../../webhooks/delivery-operations.ts';
import {
  DeliveryView,
  DeliveryWithHistory,
  deliveryJson,
  deliveryWithHistoryJson,
} from '../../webhooks/delivery-view.ts';
import type { Delivery } from '../../webhooks/port.ts';
import { ReplayInput, replay } from '../../webhooks/replay.ts';
import { callerOf, sendAnswer } from '../request/idempotency.ts';
import {
  DELIVERIES,
  EmptyInput,
  type Operations,
  PAGE_CURSOR,
  pageLimit,
  pathText,
  STATE,
} from './operation.ts';
import { answerJson, type RouteContext } from './route.ts';

type OfWebhook = { id: string };
type OfDelivery = { id: string; event: string };
const OF_WEBHOOK = { id: pathText('the id of the webhook') };
const OF_DELIVERY = { ...OF_WEBHOOK, event: pathText('the id of the event') };

const ListQuery = {
  type: 'object',
  properties: {
    state: STATE,
    limit: pageLimit('deliveries'),
    cursor: PAGE_CURSOR,
  },
  additionalProperties: false,
} as const;
type ListQuery = FromSchema<typeof ListQuery>;

export const deliveriesOperations = {
  testWebhook: {
    method: 'POST',
    url: '/webhooks/:id/test',
    scope: 'webhooks:write',
    summary: 'Send a test event',
    description:
      'Sends an event of the type `plant.test` to this webhook alone: signed, listed and retried like any other.',
    tag: 'Deliveries',
    path: OF_WEBHOOK,
    body: EmptyInput,
    success: {
      status: 202,
      description: 'The delivery of the test event.',
      schema: DeliveryView,
      headers: { Location: 'The path of the delivery.' },
    },
    failures: [40402],
  },
  listDeliveries: {
    method: 'GET',
    url: '/webhooks/:id/deliveries',
    scope: 'webhooks:read',
    summary: 'List deliveries',
    description: 'Returns the deliveries of the webhook, newest first.',
    tag: 'Deliveries',
    query: ListQuery,
    path: OF_WEBHOOK,
    success: DELIVERIES,
    failures: [40007, 40402],
  },
  getDelivery: {
    method: 'GET',
    url: '/webhooks/:id/deliveries/:event',
    scope: 'webhooks:read',
    summary: 'Get a delivery',
    description: 'Returns the delivery with its attempts: the time, the address and the response of each.',
    tag: 'Deliveries',
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
    tag: 'Deliveries',
    path: OF_DELIVERY,
    body: EmptyInput,
    success: {
      status: 202,
      description: 'The delivery as it is now.',
      schema: DeliveryView,
      headers: { Location: 'The path of the delivery.' },
    },
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
    tag: 'Deliveries',
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
} satisfies Operations;

/** What was sent to a webhook, what is pending, and how to send it again. */
export function deliveriesRoutes(app: FastifyInstance, context: RouteContext): void {
  const { webhooks, routeOf } = context;
  sendingRoutes(app, context);
  app.route<{ Params: OfWebhook; Querystring: ListQuery }>({
    ...routeOf(deliveriesOperations.listDeliveries),
    handler: listHandler(context),
  });
  app.route<{ Params: OfDelivery }>({
    ...routeOf(deliveriesOperations.getDelivery),
    async handler({ params, principal }, reply) {
      const { delivery, attempts } = await getDelivery(webhooks, principal.user.id, params.id, params.event);
      answerJson(reply);
      return deliveryWithHistoryJson(delivery, attempts);
    },
  });
}

function listHandler({ webhooks, basePath, cursors }: RouteContext) {
  return async (
    request: FastifyRequest<{ Params: OfWebhook; Querystring: ListQuery }>,
    reply: FastifyReply,
  ) => {
    const { state, cursor, limit = limits.page } = request.query;
    const { id } = request.params;
    const owner = request.principal.user.id;
    // Each state is a list of its own.
    const origin = { list: `deliveries ${id} ${state ?? ''}`, user: owner };
    const before = cursor === undefined ? undefined : cursors.open(cursor, origin);
    const { deliveries, next } = await listDeliveries(webhooks, { owner, webhook: id, state, before, limit });

    answerJson(reply);
    if (next !== undefined) {
      const chosen = state === undefined ? '' : `&state=${state}`;
      const query = `limit=${limit}&cursor=${cursors.seal(next, origin)}${chosen}`;
      reply.header('link', `<${basePath}/webhooks/${id}/deliveries?${query}>; rel="next"`);
    }
    return `[${deliveries.map(deliveryJson).join()}]`;
  };
}

function sendingRoutes(app: FastifyInstance, { webhooks, basePath, routeOf }: RouteContext): void {
  const accepted = (id: string) => (delivery: Delivery) => ({
    status: 202,
    location: `${basePath}/webhooks/${id}/deliveries/${delivery.event.id}`,
    body: deliveryJson(delivery),
  });
  app.route<{ Params: OfWebhook }>({
    ...routeOf(deliveriesOperations.testWebhook),
    async handler(request, reply) {
      const { id } = request.params;
      const answer = accepted(id);
      const delivery = await testWebhook(webhooks, request.principal.user.id, id, (result) =>
        callerOf(request, () => answer(result)),
      );
      return sendAnswer(reply, answer(delivery));
    },
  });
  app.route<{ Params: OfDelivery }>({
    ...routeOf(deliveriesOperations.redeliver),
    async handler(request, reply) {
      const { id, event } = request.params;
      const answer = accepted(id);
      const delivery = await redeliver(webhooks, request.principal.user.id, id, event, (result) =>
        callerOf(request, () => answer(result)),
      );
      return sendAnswer(reply, answer(delivery));
    },
  });
  app.route<{ Params: OfWebhook; Body: ReplayInput }>({
    ...routeOf(deliveriesOperations.replay),
    async handler(request, reply) {
      const answer = (count: number) => ({
        status: 202,
        location: undefined,
        body: JSON.stringify({ count }),
      });
      const { params, body, principal } = request;
      const count = await replay(webhooks, principal.user.id, params.id, body, (result) =>
        callerOf(request, () => answer(result)),
      );
      return sendAnswer(reply, answer(count));
    },
  });
}
