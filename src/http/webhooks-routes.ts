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
} from '../webhooks/operations.ts';
import { timeText } from '../webhooks/time.ts';
import {
  RotatedSecret,
  RotationInput,
  viewOf,
  WebhookCreated,
  WebhookInput,
  WebhookPatch,
  WebhookView,
} from '../webhooks/webhook.ts';
import { answerJson } from './answer.ts';
import type { RouteContext } from './context.ts';
import {
  answers,
  BODY_CODES,
  errorAnswers,
  KEY_CODES,
  NoBody,
  NoQuery,
  pathParameters,
  ref,
} from './documentation.ts';
import { callerOf, sendAnswer } from './idempotency.ts';

type Params = { id: string };
const params = pathParameters({ id: 'the id of the webhook' });
const tags = ['Webhooks'];

/** Webhooks and their secrets. */
export function webhooksRoutes(app: FastifyInstance, context: RouteContext): void {
  createRoute(app, context);
  listRoute(app, context);
  getRoute(app, context);
  changeRoute(app, context);
  deleteRoute(app, context);
  rotateRoute(app, context);
}

function createRoute(app: FastifyInstance, { webhooks, runtime, requires, basePath }: RouteContext): void {
  app.route<{ Body: WebhookInput }>({
    method: 'POST',
    url: '/webhooks',
    onRequest: requires('webhooks:write'),
    schema: {
      operationId: 'createWebhook',
      summary: 'Create a webhook',
      description:
        'From now on each new plant that you have access to is sent to the URL. The secret is shown this once.',
      tags,
      querystring: NoQuery,
      body: ref(WebhookInput),
      response: {
        201: answers(ref(WebhookCreated), 'The webhook was made.', {
          Location: 'Where the webhook is.',
        }),
        ...errorAnswers(...BODY_CODES, ...KEY_CODES, 40902, 42201, 50301),
      },
    },
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
}

function listRoute(app: FastifyInstance, { webhooks, runtime, requires }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/webhooks',
    onRequest: requires('webhooks:read'),
    schema: {
      operationId: 'listWebhooks',
      summary: 'List webhooks',
      description: 'Returns your webhooks, oldest first, without their secrets.',
      tags,
      querystring: NoQuery,
      response: {
        200: answers({ type: 'array', items: ref(WebhookView) }, 'The webhooks.'),
        ...errorAnswers(),
      },
    },
    async handler({ principal }, reply) {
      const found = await listWebhooks(webhooks, principal.user.id);
      const now = runtime.clock.now();
      answerJson(reply);
      return JSON.stringify(found.map((webhook) => viewOf(webhook, now)));
    },
  });
}

function getRoute(app: FastifyInstance, { webhooks, runtime, requires }: RouteContext): void {
  app.route<{ Params: Params }>({
    method: 'GET',
    url: '/webhooks/:id',
    onRequest: requires('webhooks:read'),
    schema: {
      operationId: 'getWebhook',
      summary: 'Get a webhook',
      description: 'Returns the webhook and how it is doing, without its secret.',
      tags,
      querystring: NoQuery,
      params,
      response: { 200: answers(ref(WebhookView), 'The webhook.'), ...errorAnswers(40402) },
    },
    async handler({ params, principal }, reply) {
      const found = await getWebhook(webhooks, principal.user.id, params.id);
      answerJson(reply);
      return JSON.stringify(viewOf(found, runtime.clock.now()));
    },
  });
}

function changeRoute(app: FastifyInstance, { webhooks, runtime, requires }: RouteContext): void {
  app.route<{ Params: Params; Body: WebhookPatch }>({
    method: 'PATCH',
    url: '/webhooks/:id',
    onRequest: requires('webhooks:write'),
    schema: {
      operationId: 'changeWebhook',
      summary: 'Change a webhook',
      description:
        'Changes the members that are given. While it is disabled, deliveries are made and held; enabling it makes ' +
        'all that wait due at once. Enabling, and another URL, also end a pause.',
      tags,
      querystring: NoQuery,
      params,
      body: ref(WebhookPatch),
      response: {
        200: answers(ref(WebhookView), 'The webhook as it is now.'),
        ...errorAnswers(...BODY_CODES, 40402, 42201, 50301),
      },
    },
    async handler(request, reply) {
      const { params, body, principal } = request;
      const caller = callerOf(request);
      const changed = await changeWebhook(webhooks, principal.user.id, params.id, body, caller);
      answerJson(reply);
      return JSON.stringify(viewOf(changed, runtime.clock.now()));
    },
  });
}

function deleteRoute(app: FastifyInstance, { webhooks, requires }: RouteContext): void {
  app.route<{ Params: Params }>({
    method: 'DELETE',
    url: '/webhooks/:id',
    onRequest: requires('webhooks:write'),
    schema: {
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook',
      description: 'Removes the webhook and its deliveries, those that still wait included.',
      tags,
      querystring: NoQuery,
      params,
      response: { 204: answers(NoBody, 'The webhook was removed.'), ...errorAnswers(40402, 50301) },
    },
    async handler(request, reply) {
      const { params, principal } = request;
      await deleteWebhook(webhooks, principal.user.id, params.id, callerOf(request));
      return reply.code(204).send();
    },
  });
}

function rotateRoute(app: FastifyInstance, { webhooks, requires }: RouteContext): void {
  app.route<{ Params: Params; Body: RotationInput }>({
    method: 'POST',
    url: '/webhooks/:id/rotate-secret',
    onRequest: requires('webhooks:write'),
    schema: {
      operationId: 'rotateSecret',
      summary: 'Rotate the secret',
      description:
        'Gives the webhook a new secret, which is shown this once. For the overlap each delivery is signed under ' +
        'the old secret as well, so that the receiver can change over in between.',
      tags,
      querystring: NoQuery,
      params,
      body: ref(RotationInput),
      response: {
        200: answers(ref(RotatedSecret), 'The new secret.'),
        ...errorAnswers(...BODY_CODES, ...KEY_CODES, 40402, 40902, 50301),
      },
    },
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
