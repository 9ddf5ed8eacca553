import type { FastifyInstance } from 'fastify';
import type { FromSchema } from 'json-schema-to-ts';
import { activity as limits } from '../../limits.ts';
import { ActiveHourView, activeHourJson, activityOf } from '../../webhooks/activity.ts';
import type { Operations } from './operation.ts';
import { answerJson, type RouteContext } from './route.ts';

const ActivityQuery = {
  type: 'object',
  properties: {
    hours: {
      type: 'integer',
      minimum: 1,
      maximum: limits.mostHours,
      description: `an integer from 1 to ${limits.mostHours}: how many hours; without it, ${limits.hours}`,
    },
  },
  additionalProperties: false,
} as const;
type ActivityQuery = FromSchema<typeof ActivityQuery>;

export const activityOperations = {
  getActivity: {
    method: 'GET',
    url: '/activity',
    scope: 'webhooks:read',
    summary: 'Count what happened',
    description:
      'Returns how many plants were created in each of the last hours, and the outcomes of their deliveries, oldest ' +
      `first; the last hour is the current one. Returns fewer hours if they hold more than ${limits.countedRows} ` +
      'events and deliveries together.',
    tag: 'Events',
    query: ActivityQuery,
    success: {
      status: 200,
      description: 'The hours.',
      schema: {
        type: 'object',
        required: ['hours'],
        properties: { hours: { type: 'array', items: ActiveHourView } },
      },
    },
  },
} satisfies Operations;

/** What happened in the last hours, in numbers. */
export function activityRoutes(app: FastifyInstance, { webhooks, runtime, routeOf }: RouteContext): void {
  const parts = { deliveries: webhooks.deliveries, clock: runtime.clock };
  app.route<{ Querystring: ActivityQuery }>({
    ...routeOf(activityOperations.getActivity),
    async handler({ query, principal }, reply) {
      const hours = await activityOf(parts, principal.user.id, query.hours ?? limits.hours);
      answerJson(reply);
      return `{"hours":[${hours.map(activeHourJson).join()}]}`;
    },
  });
}
