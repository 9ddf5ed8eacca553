import type { FastifyInstance } from 'fastify';
import {
  type CreatedWebhook,
  changeWebhook,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateSecret,
  type SecretRotation,
} from '../../webhooks/operations.ts';
import { timeText } from '../../webhooks/time.ts';
import {
  RotatedSecret,
  RotationInput,
  viewOf,
  WebhookCreated,
  WebhookInput,
  WebhookPatch,
  WebhookView,
  type WebhookWithHealth,
} from '../../webhooks/webhook.ts';
import { callerOf, sendAnswer } from '../request/idempotency.ts';
import { type Operations, pathText } from './operation.ts';
import { answerJson, type RouteContext } from './route.ts';

type Params = { id: string };
const PATH = { id: pathText('the id of the webhook') };

export const webhooksOperations = {
  createWebhook: {
    method: 'POST',
    url: '/webhooks',
    scope: 'webhooks:write',
    summary: 'Create a webhook',
    description:
      'From now on, each new plant that you have access to is sent to the URL. The secret is shown only once.',
    tag: 'Webhooks',
    body: WebhookInput,
    success: {
      status: 201,
      description: 'The webhook was created.',
      schema: WebhookCreated,
      headers: { Location: 'The path of the webhook.' },
    },
    failures: [40902, 42201],
  },
  listWebhooks: {
    method: 'GET',
    url: '/webhooks',
    scope: 'webhooks:read',
    summary: 'List webhooks',
    description: 'Returns your webhooks, oldest first, without their secrets.',
    tag: 'Webhooks',
    success: { status: 200, description: 'The webhooks.', schema: { type: 'array', items: WebhookView } },
  },
  getWebhook: {
    method: 'GET',
    url: '/webhooks/:id',
    scope: 'webhooks:read',
    summary: 'Get a webhook',
    description: 'Returns the webhook and its health, without its secret.',
    tag: 'Webhooks',
    path: PATH,
    success: { status: 200, description: 'The webhook.', schema: WebhookView },
    failures: [40402],
  },
  changeWebhook: {
    method: 'PATCH',
    url: '/webhooks/:id',
    scope: 'webhooks:write',
    summary: 'Change a webhook',
    description:
      'Changes the given members. While the webhook is disabled, new deliveries are held; enabling it makes ' +
      'them due at once. Enabling it or changing its URL also ends a pause.',
    tag: 'Webhooks',
    path: PATH,
    body: WebhookPatch,
    success: { status: 200, description: 'The webhook as it is now.', schema: WebhookView },
    failures: [40402, 42201],
  },
  deleteWebhook: {
    method: 'DELETE',
    url: '/webhooks/:id',
    scope: 'webhooks:write',
    summary: 'Delete a webhook',
    description: 'Removes the webhook and its deliveries, including pending ones.',
    tag: 'Webhooks',
    path: PATH,
    success: { status: 204, description: 'The webhook was removed.' },
    failures: [40402],
  },
  rotateSecret: {
    method: 'POST',
    url: '/webhooks/:id/rotate-secret',
    scope: 'webhooks:write',
    summary: 'Rotate the secret',
    description:
      'Gives the webhook a new secret, which is shown only once. During the overlap each delivery is also signed with ' +
      'the old secret, so that the receiver can switch in the meantime.',
    tag: 'Webhooks',
    path: PATH,
    body: RotationInput,
    success: { status: 200, description: 'The new secret.', schema: RotatedSecret },
    failures: [40402, 40902],
  },
} satisfies Operations;

/** Webhooks and their secrets. */
export function webhooksRoutes(app: FastifyInstance, context: RouteContext): void {
  const { webhooks, runtime, routeOf } = context;
  const json = (found: WebhookWithHealth) => JSON.stringify(viewOf(found, runtime.clock.now()));
  secretRoutes(app, context);
  app.route({
    ...routeOf(webhooksOperations.listWebhooks),
    async handler({ principal }, reply) {
      const found = await listWebhooks(webhooks, principal.user.id);
      answerJson(reply);
      return `[${found.map(json).join()}]`;
    },
  });
  app.route<{ Params: Params }>({
    ...routeOf(webhooksOperations.getWebhook),
    async handler({ params, principal }, reply) {
      const found = await getWebhook(webhooks, principal.user.id, params.id);
      answerJson(reply);
      return json(found);
    },
  });
  app.route<{ Params: Params; Body: WebhookPatch }>({
    ...routeOf(webhooksOperations.changeWebhook),
    async handler(request, reply) {
      const { params, body, principal } = request;
      const caller = callerOf(request);
      const changed = await changeWebhook(webhooks, principal.user.id, params.id, body, caller);
      answerJson(reply);
      return json(changed);
    },
  });
  app.route<{ Params: Params }>({
    ...routeOf(webhooksOperations.deleteWebhook),
    async handler(request, reply) {
      const { params, principal } = request;
      await deleteWebhook(webhooks, principal.user.id, params.id, callerOf(request));
      return reply.code(204).send();
    },
  });
}

/** Those whose answer contains a secret. */
function secretRoutes(app: FastifyInstance, { webhooks, runtime, routeOf, basePath }: RouteContext): void {
  app.route<{ Body: WebhookInput }>({
    ...routeOf(webhooksOperations.createWebhook),
    async handler(request, reply) {
      const answer = ({ secret, ...created }: CreatedWebhook) => ({
        status: 201,
        location: `${basePath}/webhooks/${created.webhook.id}`,
        body: JSON.stringify({ ...viewOf(created, runtime.clock.now()), secret }),
      });
      const owner = request.principal.user.id;
      const created = await createWebhook(webhooks, owner, request.body, (result) =>
        callerOf(request, () => answer(result)),
      );
      return sendAnswer(reply.header('cache-control', 'no-store'), answer(created));
    },
  });
  app.route<{ Params: Params; Body: RotationInput }>({
    ...routeOf(webhooksOperations.rotateSecret),
    async handler(request, reply) {
      const answer = ({ secret, overlapUntil }: SecretRotation) => ({
        status: 200,
        location: undefined,
        body: JSON.stringify({ secret, overlapUntil: timeText(overlapUntil) }),
      });
      const { params, body, principal } = request;
      const rotated = await rotateSecret(webhooks, principal.user.id, params.id, body, (result) =>
        callerOf(request, () => answer(result)),
      );
      return sendAnswer(reply.header('cache-control', 'no-store'), answer(rotated));
    },
  });
}
