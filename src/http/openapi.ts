import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { ListedPlant, Plant, PlantInput } from '../plants/plant.ts';
import { PlantCreatedPayload, WebhookCreated, WebhookInput, WebhookView } from '../webhooks/webhook.ts';
import { ErrorObject } from './documentation.ts';

/** The schemas that the document names; operations refer to them by their `$id`. */
export const sharedSchemas = [
  Plant,
  ListedPlant,
  PlantInput,
  ErrorObject,
  WebhookInput,
  WebhookView,
  WebhookCreated,
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
    refResolver: { buildLocalReference: (schema) => String(schema.$id) },
  });
}

const newPlant = {
  operationId: 'newPlant',
  summary: 'New Plant',
  description:
    'Sent to each webhook when a plant is added to the store; the plant, its event and its deliveries are one ' +
    'transaction. Delivered at least once: `webhook-id` is the same on every attempt, so use it to recognise a ' +
    'repetition. Any 2xx answer within 15 seconds is a success; redirects are not followed. The signature is ' +
    "that of Standard Webhooks, so it does not use this service's bearer token.",
  tags: ['Webhooks'],
  security: [],
  parameters: Object.entries({
    'webhook-id': 'The id of the event, `evt_…`.',
    'webhook-timestamp': 'Unix seconds of this attempt.',
    'webhook-signature':
      'Space-separated: `v1,` HMAC-SHA256 under each live secret, `v1a,` ed25519 under the key pair of the webhook.',
    'ce-specversion': 'CloudEvents: `1.0`.',
    'ce-id': 'CloudEvents: the same as `webhook-id`.',
    'ce-type': 'CloudEvents: `plant.created`.',
    'ce-source': 'CloudEvents: the URL of this service.',
    'ce-time': 'CloudEvents: when the plant was added (RFC 3339).',
    'user-agent': '`plant-store/` and the version.',
  }).map(([name, description]) => ({
    name,
    in: 'header' as const,
    required: true,
    description,
    schema: { type: 'string' as const },
  })),
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/NewPlant' } } },
  },
  responses: {
    '2XX': { description: 'Received.' },
    default: { description: 'A failure: the delivery is tried again, by the retry schedule.' },
  },
};
