import type { FastifyInstance } from 'fastify';
import { createWebhook, deleteWebhook, listWebhooks } from '../webhooks/operations.ts';
import { viewOf, WebhookCreated, WebhookInput, WebhookView } from '../webhooks/webhook.ts';
import { answerJson } from './answer.ts';
import type { RouteContext } from './context.ts';
import { answers, errorAnswers, NoBody, NoQuery, ref } from './documentation.ts';

export function webhooksRoutes(app: FastifyInstance, { webhooks, requires, basePath }: RouteContext): void {
  app.route<{ Body: WebhookInput }>({
    method: 'POST',
    url: '/webhooks',
    onRequest: requires('webhooks:write'),
    schema: {
      operationId: 'createWebhook',
      summary: 'Create a webhook',
      description:
        'From now on each new plant that you have access to is sent to the URL. The secret is shown this once.',
      tags: ['Webhooks'],
      querystring: NoQuery,
      body: ref(WebhookInput),
      response: {
        201: answers(ref(WebhookCreated), 'The webhook was made.', {
          Location: 'Where the webhook is.',
        }),
        ...errorAnswers(40001, 40002, 41300, 41500, 41501, 42201, 50301),
      },
    },
    async handler({ body, principal }, reply) {
      const { webhook, secret } = await createWebhook(webhooks, principal.user.id, body);
      answerJson(reply.code(201))
        .header('location', `${basePath}/webhooks/${webhook.id}`)
        .header('cache-control', 'no-store');
      return JSON.stringify({ ...viewOf(webhook), secret });
    },
  });

  app.route({
    method: 'GET',
    url: '/webhooks',
    onRequest: requires('webhooks:read'),
    schema: {
      operationId: 'listWebhooks',
      summary: 'List webhooks',
      description: 'Returns your webhooks, oldest first, without their secrets.',
      tags: ['Webhooks'],
      querystring: NoQuery,
      response: {
        200: answers({ type: 'array', items: ref(WebhookView) }, 'The webhooks.'),
        ...errorAnswers(),
      },
    },
    async handler({ principal }, reply) {
      const found = await listWebhooks(webhooks, principal.user.id);
      answerJson(reply);
      return JSON.stringify(found.map(viewOf));
    },
  });

  app.route<{ Params: { id: string } }>({
    method: 'DELETE',
    url: '/webhooks/:id',
    onRequest: requires('webhooks:write'),
    schema: {
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook',
      description: 'Removes the webhook and its deliveries, those that still wait included.',
      tags: ['Webhooks'],
      querystring: NoQuery,
      params: {
        type: 'object',
        required: ['id'],
        properties: { id: { type: 'string', description: 'the id of the webhook' } },
      },
      response: { 204: answers(NoBody, 'The webhook was removed.'), ...errorAnswers(40402, 50301) },
    },
    async handler({ params, principal }, reply) {
      await deleteWebhook(webhooks, principal.user.id, params.id);
      return reply.code(204).send();
    },
  });
}
