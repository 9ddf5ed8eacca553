import swagger, { type SwaggerTransformObject } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { idempotency as limits } from '../limits.ts';
import { ListedPlant, Plant, PlantInput } from '../plants/plant.ts';
import { ActiveHourView } from '../webhooks/activity.ts';
import { DeliveryView, DeliveryWithHistory } from '../webhooks/delivery-view.ts';
import { EventView, PlantCreatedPayload } from '../webhooks/event.ts';
import { ReplayInput } from '../webhooks/replay.ts';
import {
  RotatedSecret,
  RotationInput,
  WebhookCreated,
  WebhookInput,
  WebhookPatch,
  WebhookView,
} from '../webhooks/webhook.ts';
import { EmptyInput, ErrorObject } from './documentation.ts';

/** The schemas that the document names; operations refer to them by their `$id`. */
export const sharedSchemas = [
  Plant,
  ListedPlant,
  PlantInput,
  ErrorObject,
  EmptyInput,
  WebhookInput,
  WebhookPatch,
  WebhookView,
  WebhookCreated,
  RotationInput,
  RotatedSecret,
  DeliveryView,
  DeliveryWithHistory,
  ReplayInput,
  ActiveHourView,
  EventView,
  PlantCreatedPayload,
];

/** Collects the OpenAPI 3.1 document from the routes that are registered after this. */
export async function collectOpenApi(app: FastifyInstance, publicUrl: string): Promise<void> {
  for (const schema of sharedSchemas) app.addSchema(schema);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Plant Store',
        version: '1.0.0',
        description: 'Create, list and delete plants, and be told of every new one through a webhook.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: publicUrl }],
      tags: [
        { name: 'Plants', description: 'The store of plants.' },
        { name: 'Webhooks', description: 'Who is told of new plants.' },
        {
          name: 'Deliveries',
          description: 'What was sent to a webhook, what waits, and how to send it again.',
        },
        { name: 'Events', description: 'What happened, for a receiver that wants to catch up or to follow.' },
        { name: 'Tokens', description: 'Whom a token acts for.' },
      ],
      components: {
        securitySchemes: {
          bearerAuth: {
            type: 'http',
            scheme: 'bearer',
            description: 'An access token of `plant-store token create`.',
          },
        },
      },
      security: [{ bearerAuth: [] }],
      webhooks: { '/plant/webhook': { post: newPlant } },
    },
    transformObject: completePosts,
    refResolver: { buildLocalReference: (schema) => String(schema.$id) },
  });
}

/**
 * Every POST takes a key; and a body whose schema has a default may be absent, while the collector takes every body for
 * required.
 */
function completePosts(collected: Parameters<SwaggerTransformObject>[0]) {
  if ('swaggerObject' in collected) return collected.swaggerObject;
  const { openapiObject } = collected;
  const optional = sharedSchemas.filter((schema) => 'default' in schema).map(({ $id }) => referenceTo($id));
  for (const path of Object.values(openapiObject.paths ?? {})) {
    // Here, and not in the schema of each route, since that would have the header fields of each request validated.
    if (path?.post) path.post.parameters = [...(path.post.parameters ?? []), idempotencyKey];
    const body = path?.post?.requestBody;
    if (body === undefined || '$ref' in body) continue;
    const schema = body.content['application/json']?.schema;
    if (schema && '$ref' in schema && optional.includes(schema.$ref)) body.required = false;
  }
  return openapiObject;
}

function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header' as const,
  required: false,
  description:
    `makes it safe to repeat the request: 1 to ${limits.keyLength} characters, quoted or not; a retry with the same key ` +
    `and body gets the recorded answer for ${limits.keptMs / 3_600_000} hours, with \`Idempotent-Replayed: true\``,
  schema: { type: 'string' as const },
};

const busy = {
  description:
    'Too much for the receiver: the delivery is tried again. With `Retry-After` (seconds or a date, up to 24 hours) ' +
    'nothing is sent to the webhook until then.',
  headers: {
    'Retry-After': {
      schema: { type: 'string' as const },
      description: 'When the receiver wants to be asked again.',
    },
  },
};

const newPlant = {
  operationId: 'newPlant',
  summary: 'New Plant',
  description:
    'Sent to each webhook when a plant is added to the store; the plant, its event and its deliveries are one ' +
    'transaction. Delivered at least once: `webhook-id` is the same on every attempt, so use it to recognise a ' +
    'repetition. Any 2xx answer within 15 seconds is a success; redirects are not followed. The signature is ' +
    "that of Standard Webhooks, so it does not use this service's bearer token. A test event, which the owner " +
    'of the webhook asks for, is the same with `ce-type: plant.test` and a plant that is not in the store.',
  tags: ['Webhooks'],
  security: [],
  parameters: Object.entries({
    'webhook-id': 'The id of the event, `evt_…`.',
    'webhook-timestamp': 'Unix seconds of this attempt.',
    'webhook-signature':
      'Space-separated: `v1,` HMAC-SHA256 under each live secret, `v1a,` ed25519 under the key pair of the webhook.',
    'ce-specversion': 'CloudEvents: `1.0`.',
    'ce-id': 'CloudEvents: the same as `webhook-id`.',
    'ce-type': 'CloudEvents: `plant.created`, or `plant.test` for a test.',
    'ce-source': 'CloudEvents: the URL of this service.',
    'ce-time': 'CloudEvents: when the plant was added (RFC 3339).',
    'user-agent': '`plant-store/` and the version.',
    traceparent: 'The trace that the plant was added in, when the service makes traces (W3C Trace Context).',
    tracestate: 'Of the same trace, when the client that added the plant sent one.',
  }).map(([name, description]) => ({
    name,
    in: 'header' as const,
    required: !name.startsWith('trace'),
    description,
    schema: { type: 'string' as const },
  })),
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { $ref: referenceTo(PlantCreatedPayload.$id) } } },
  },
  responses: {
    '2XX': { description: 'Received.' },
    410: { description: 'The receiver wants no more: the webhook is disabled, and what waits is held.' },
    429: busy,
    503: busy,
    default: { description: 'A failure: the delivery is tried again, by the retry schedule.' },
  },
};
