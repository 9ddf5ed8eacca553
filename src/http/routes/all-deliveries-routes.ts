import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FromSchema } from 'json-schema-to-ts';
import { AppError } from '../../errors.ts';
import { feeds as limits } from '../../limits.ts';
import { Id, type PlantId } from '../../plants/plant.ts';
import { type DeliveryPosition, listAllDeliveries } from '../../webhooks/all-deliveries.ts';
import { deliveryJson } from '../../webhooks/delivery-view.ts';
import { DateTime, parseDateTime } from '../../webhooks/time.ts';
import { noCursor } from '../request/cursor.ts';
import { DELIVERIES, type Operations, PAGE_CURSOR, pageLimit, STATE } from './operation.ts';
import { answerJson, type RouteContext } from './route.ts';

const Filters = {
  webhook: {
    type: 'string',
    description: 'the id of a webhook: only its deliveries; without it, of all webhooks',
  },
  state: STATE,
  plant: { ...Id, description: `${Id.description}: only deliveries of plants with this id` },
  since: { ...DateTime, description: `${DateTime.description}: only deliveries of events from this time on` },
  until: { ...DateTime, description: `${DateTime.description}: only deliveries of events before this time` },
} as const;

const ListQuery = {
  type: 'object',
  properties: { ...Filters, limit: pageLimit('deliveries'), cursor: PAGE_CURSOR },
  additionalProperties: false,
} as const;
type ListQuery = FromSchema<
  typeof ListQuery,
  { deserialize: [{ pattern: typeof Filters.plant; output: PlantId }] }
>;

export const allDeliveriesOperations = {
  listAllDeliveries: {
    method: 'GET',
    url: '/deliveries',
    scope: 'webhooks:read',
    summary: 'List the deliveries of all webhooks',
    description:
      'Returns the deliveries of your webhooks, newest first, and of one event by descending webhook id. A page takes ' +
      'the same time however many deliveries there are (except that with `state=delivered` the service on PostgreSQL ' +
      'also reads the undelivered ones in between), and may have fewer than `limit` although there are more.',
    tag: 'Deliveries',
    query: ListQuery,
    success: DELIVERIES,
    failures: [40007],
  },
} satisfies Operations;

/** What was sent to all of a user's webhooks, and what is pending. */
export function allDeliveriesRoutes(app: FastifyInstance, context: RouteContext): void {
  app.route<{ Querystring: ListQuery }>({
    ...context.routeOf(allDeliveriesOperations.listAllDeliveries),
    handler: listHandler(context),
  });
}

function listHandler({ webhooks, basePath, cursors }: RouteContext) {
  return async ({ query, principal }: FastifyRequest<{ Querystring: ListQuery }>, reply: FastifyReply) => {
    const { webhook, state, plant, cursor, limit = limits.page } = query;
    const owner = principal.user.id;
    const chosen = new URLSearchParams(
      Object.keys(Filters).flatMap((name) => {
        const value = query[name as keyof typeof Filters];
        return value === undefined ? [] : [[name, String(value)]];
      }),
    );
    // Each combination of filters is a list of its own.
    const origin = { list: `deliveries ?${chosen}`, user: owner };
    const { deliveries, next } = await listAllDeliveries(webhooks, {
      ...{ owner, webhook, state, plant, limit },
      since: timeIn('since', query.since),
      until: timeIn('until', query.until),
      after: cursor === undefined ? undefined : positionIn(cursors.open(cursor, origin)),
    });

    answerJson(reply);
    if (next) {
      const sealed = cursors.seal(`${next.event}.${next.webhook}`, origin);
      const rest = chosen.size > 0 ? `&${chosen}` : '';
      reply.header('link', `<${basePath}/deliveries?limit=${limit}&cursor=${sealed}${rest}>; rel="next"`);
    }
    return `[${deliveries.map(deliveryJson).join()}]`;
  };
}

function positionIn(position: string): DeliveryPosition {
  const [, event, webhook] = /^(\w+)\.(\w*)$/.exec(position) ?? [];
  if (event === undefined || webhook === undefined) throw noCursor();
  return { event, webhook };
}

function timeIn(name: 'since' | 'until', text: string | undefined): number | undefined {
  const ms = text === undefined ? undefined : parseDateTime(text);
  if (text === undefined || ms !== undefined) return ms;
  throw new AppError(40003, `The query parameter "${name}" must be ${Filters[name].description}.`);
}
