import { timeText } from '../../runtime.ts';
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
import { callerOf } from '../request/idempotency.ts';
import { type Operations, pathText } from './operation.ts';
import type { RouteContext } from './route.ts';

const PATH = { id: pathText('the id of the webhook') };

export const webhooksOperations = {
  createWebhook: {
    method: 'POST',
    url: '/webhooks',
    scope: 'webhooks:write',
    summary: 'Create a webhook',
    description:
      'From now on, each new plant that you have access to is sent to the URL. The secret is shown only once.',
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
    success: { status: 200, description: 'The webhooks.', schema: { type: 'array', items: WebhookView } },
  },
  getWebhook: {
    method: 'GET',
    url: '/webhooks/:id',
    scope: 'webhooks:read',
    summary: 'Get a webhook',
    description: 'Returns the webhook and its health, without its secret.',
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
    path: PATH,
    body: RotationInput,
    success: { status: 200, description: 'The new secret.', schema: RotatedSecret },
    failures: [40402, 40902],
  },
} satisfies Operations;

/** Webhooks and their secrets. */
export function webhooksRoutes({ webhooks, runtime, basePath, route, post }: RouteContext): void {
  const view = (found: WebhookWithHealth) => viewOf(found, runtime.clock.now());
  post(webhooksOperations.createWebhook, {
    location: ({ webhook }: CreatedWebhook) => `${basePath}/webhooks/${webhook.id}`,
    json: ({ secret, ...created }) => JSON.stringify({ ...view(created), secret }),
    isSecret: true,
    write: ({ body, principal }, callerFor) => createWebhook(webhooks, principal.user.id, body, callerFor),
  });
  route(webhooksOperations.listWebhooks, async ({ principal }) => {
    const found = await listWebhooks(webhooks, principal.user.id);
    return JSON.stringify(found.map(view));
  });
  route(webhooksOperations.getWebhook, async ({ params, principal }) =>
    JSON.stringify(view(await getWebhook(webhooks, principal.user.id, params.id))),
  );
  route(webhooksOperations.changeWebhook, async (request) => {
    const { params, body, principal } = request;
    const caller = callerOf(request);
    return JSON.stringify(view(await changeWebhook(webhooks, principal.user.id, params.id, body, caller)));
  });
  route(webhooksOperations.deleteWebhook, (request) =>
    deleteWebhook(webhooks, request.principal.user.id, request.params.id, callerOf(request)),
  );
  post(webhooksOperations.rotateSecret, {
    json: ({ secret, overlapUntil }: SecretRotation) =>
      JSON.stringify({ secret, overlapUntil: timeText(overlapUntil) }),
    isSecret: true,
    write: ({ params, body, principal }, callerFor) =>
      rotateSecret(webhooks, principal.user.id, params.id, body, callerFor),
  });
}
