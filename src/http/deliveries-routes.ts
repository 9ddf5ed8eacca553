import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FromSchema } from 'json-schema-to-ts';
import type { KeptAnswer } from '../idempotency.ts';
import { feeds as limits } from '../limits.ts';
import { getDelivery, listDeliveries, redeliver, testWebhook } from '../webhooks/delivery-operations.ts';
import {
  DeliveryView,
  DeliveryWithHistory,
  deliveryJson,
  deliveryWithHistoryJson,
} from '../webhooks/delivery-view.ts';
import { type Delivery, deliveryStates } from '../webhooks/port.ts';
import { ReplayInput, replay } from '../webhooks/replay.ts';
import { answerJson } from './answer.ts';
import type { RouteContext } from './context.ts';
import {
  answers,
  BODY_CODES,
  EmptyInput,
  errorAnswers,
  KEY_CODES,
  NoQuery,
  pageLimit,
  pathParameters,
  ref,
} from './documentation.ts';
import { callerOf, sendAnswer } from './idempotency.ts';

type OfWebhook = { id: string };
type OfDelivery = { id: string; event: string };
const ofWebhook = pathParameters({ id: 'the id of the webhook' });
const ofDelivery = pathParameters({ id: 'the id of the webhook', event: 'the id of the event' });
const tags = ['Deliveries'];

const ListQuery = {
  type: 'object',
  properties: {
    state: {
      enum: deliveryStates,
      description: `one of ${deliveryStates.join(', ')}: only deliveries in this state; without it, all`,
    },
    limit: pageLimit('deliveries'),
    cursor: {
      type: 'string',
      description: 'a cursor out of the Link header of an earlier answer: the list goes on from there',
    },
  },
  additionalProperties: false,
} as const;
type ListQuery = FromSchema<typeof ListQuery>;

/** What was sent to a webhook, what waits, and how to send again. */
export function deliveriesRoutes(app: FastifyInstance, context: RouteContext): void {
  testRoute(app, context);
  listRoute(app, context);
  getRoute(app, context);
  redeliverRoute(app, context);
  replayRoute(app, context);
}

function testRoute(app: FastifyInstance, context: RouteContext): void {
  const { webhooks, requires } = context;
  app.route<{ Params: OfWebhook }>({
    method: 'POST',
    url: '/webhooks/:id/test',
    onRequest: requires('webhooks:write'),
    schema: {
      operationId: 'testWebhook',
      summary: 'Send a test event',
      description:
        'Sends an event of the type `plant.test` to this webhook alone: signed, listed and retried like any other.',
      tags,
      querystring: NoQuery,
      params: ofWebhook,
      body: ref(EmptyInput),
      response: {
        202: answers(ref(DeliveryView), 'The delivery of the test event.', {
          Location: 'Where the delivery is.',
        }),
        ...errorAnswers(...BODY_CODES, ...KEY_CODES, 40402, 50301),
      },
    },
    async handler(request, reply) {
      const { id } = request.params;
      const answer = (delivery: Delivery) => accepted(context, id, delivery);
      const delivery = await testWebhook(webhooks, request.principal.user.id, id, (result) =>
        callerOf(request, () => answer(result)),
      );
      return sendAnswer(reply, answer(delivery));
    },
  });
}

function listRoute(app: FastifyInstance, context: RouteContext): void {
  app.route<{ Params: OfWebhook; Querystring: ListQuery }>({
    method: 'GET',
    url: '/webhooks/:id/deliveries',
    onRequest: context.requires('webhooks:read'),
    schema: {
      operationId: 'listDeliveries',
      summary: 'List deliveries',
      description: 'Returns the deliveries of the webhook, newest first.',
      tags,
      querystring: ListQuery,
      params: ofWebhook,
      response: {
        200: answers({ type: 'array', items: ref(DeliveryView) }, 'The deliveries.', {
          Link: 'When there are more: the URL of the next page, as `<…>; rel="next"`.',
        }),
        ...errorAnswers(40007, 40402),
      },
    },
    handler: listHandler(context),
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
    // Another state is another list.
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

function getRoute(app: FastifyInstance, { webhooks, requires }: RouteContext): void {
  app.route<{ Params: OfDelivery }>({
    method: 'GET',
    url: '/webhooks/:id/deliveries/:event',
    onRequest: requires('webhooks:read'),
    schema: {
      operationId: 'getDelivery',
      summary: 'Get a delivery',
      description: 'Returns the delivery with its attempts: when, to which address, and what came back.',
      tags,
      querystring: NoQuery,
      params: ofDelivery,
      response: {
        200: answers(ref(DeliveryWithHistory), 'The delivery.'),
        ...errorAnswers(40402, 40403),
      },
    },
    async handler({ params, principal }, reply) {
      const { delivery, attempts } = await getDelivery(webhooks, principal.user.id, params.id, params.event);
      answerJson(reply);
      return deliveryWithHistoryJson(delivery, attempts);
    },
  });
}

function redeliverRoute(app: FastifyInstance, context: RouteContext): void {
  const { webhooks, requires } = context;
  app.route<{ Params: OfDelivery }>({
    method: 'POST',
    url: '/webhooks/:id/deliveries/:event/redeliver',
    onRequest: requires('webhooks:write'),
    schema: {
      operationId: 'redeliver',
      summary: 'Redeliver an event',
      description:
        'Makes the delivery due now, whatever became of it, and begins its retry schedule anew. It is held while the ' +
        'webhook is disabled.',
      tags,
      querystring: NoQuery,
      params: ofDelivery,
      body: ref(EmptyInput),
      response: {
        202: answers(ref(DeliveryView), 'The delivery as it is now.', { Location: 'Where the delivery is.' }),
        ...errorAnswers(...BODY_CODES, ...KEY_CODES, 40402, 40403, 50301),
      },
    },
    async handler(request, reply) {
      const { id, event } = request.params;
      const answer = (delivery: Delivery) => accepted(context, id, delivery);
      const delivery = await redeliver(webhooks, request.principal.user.id, id, event, (result) =>
        callerOf(request, () => answer(result)),
      );
      return sendAnswer(reply, answer(delivery));
    },
  });
}

function replayRoute(app: FastifyInstance, { webhooks, requires }: RouteContext): void {
  app.route<{ Params: OfWebhook; Body: ReplayInput }>({
    method: 'POST',
    url: '/webhooks/:id/replay',
    onRequest: requires('webhooks:write'),
    schema: {
      operationId: 'replay',
      summary: 'Replay events',
      description:
        'Sends again what happened since a time: every event of the plants that you have access to, or the ' +
        'deliveries in one state. It goes on after a restart, and each is retried like a new one.',
      tags,
      querystring: NoQuery,
      params: ofWebhook,
      body: ref(ReplayInput),
      response: {
        202: answers(
          {
            type: 'object',
            required: ['count'],
            properties: { count: { type: 'integer', minimum: 0, description: 'how many are sent' } },
          },
          'The replay was written down.',
        ),
        ...errorAnswers(...BODY_CODES, ...KEY_CODES, 40402, 40902, 50301),
      },
    },
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

function accepted({ basePath }: RouteContext, webhook: string, delivery: Delivery): KeptAnswer {
  return {
    status: 202,
    location: `${basePath}/webhooks/${webhook}/deliveries/${delivery.event.id}`,
    body: deliveryJson(delivery),
  };
}
