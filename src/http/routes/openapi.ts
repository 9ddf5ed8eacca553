import { idempotency as limits } from '../../limits.ts';
import { PlantCreatedPayload } from '../../webhooks/event.ts';
import { deliveriesOperations } from './deliveries-routes.ts';
import { eventsOperations } from './events-routes.ts';
import {
  describeHeaders,
  RATE_LIMIT,
  REPLAYED,
  referToFailures,
  referToHeaders,
  sharedFailures,
  sharedHeaders,
} from './openapi-failures.ts';
import { IF_NONE_MATCH, type Operation, type Operations, type Schema, type Success } from './operation.ts';
import { plantsOperations } from './plants-routes.ts';
import { tokensOperations } from './tokens-routes.ts';
import { webhooksOperations } from './webhooks-routes.ts';

/** Every operation of the API, by the tag under which the document lists it. */
export const tags: readonly { name: string; description: string; operations: Operations }[] = [
  { name: 'Plants', description: 'The store of plants.', operations: plantsOperations },
  { name: 'Webhooks', description: 'Where new plants are announced.', operations: webhooksOperations },
  {
    name: 'Deliveries',
    description: 'What was sent to a webhook, what is pending, and how to send it again.',
    operations: deliveriesOperations,
  },
  {
    name: 'Events',
    description: 'What happened, for receivers that catch up or follow.',
    operations: eventsOperations,
  },
  {
    name: 'Tokens',
    description: 'Who you are, and what your programs may do.',
    operations: tokensOperations,
  },
];

/** Without their tags. */
export const operations: Operations = Object.assign({}, ...tags.map((tag) => tag.operations));

/** The OpenAPI 3.1 document of a service at `publicUrl`. */
export function openapiDocument(publicUrl = '/'): object {
  const schemas = {};
  const paths = gatherSchemas(pathsOf(), schemas);
  const webhooks = gatherSchemas({ '/plant/webhook': { post: newPlant } }, schemas);
  const responses = gatherSchemas(sharedFailures(Object.values(operations)), schemas);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Plant Store',
      version: '1.0.0',
      description: 'Create, list and delete plants, and receive every new one through a webhook.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicUrl }],
    tags: tags.map(({ name, description }) => ({ name, description })),
    security: [{ bearerAuth: [] }],
    paths,
    webhooks,
    components: {
      schemas,
      parameters: { IdempotencyKey: idempotencyKey },
      headers: sharedHeaders,
      responses,
      securitySchemes: {
        bearerAuth: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An access token of `plant-store token create` or `POST /tokens`, the token in `BOOTSTRAP_TOKEN`, or a JWT ' +
            'of the identity provider that the service trusts. An operation lists the scope that it needs.',
        },
      },
    },
  };
}

/** Replaces each named schema with a reference and collects these schemas. */
function gatherSchemas<Part>(part: Part, schemas: Record<string, unknown>): Part {
  const text = JSON.stringify(part, (_, value) => {
    if (typeof value?.$id !== 'string') return value;
    const { $id, ...schema } = value;
    if (!Object.hasOwn(schemas, $id)) {
      // Reserves its place before the schemas that it refers to.
      schemas[$id] = undefined;
      schemas[$id] = gatherSchemas(schema, schemas);
    }
    return { $ref: `#/components/schemas/${$id}` };
  });
  // Apart from the references, its type is unchanged.
  return JSON.parse(text) as Part;
}

function pathsOf() {
  const paths: Record<string, Record<string, object>> = {};
  for (const tag of tags) {
    for (const [id, operation] of Object.entries(tag.operations)) {
      const path = pathTemplate(operation);
      const method = operation.method.toLowerCase();
      paths[path] = { ...paths[path], [method]: describe(id, operation, tag.name) };
    }
  }
  return paths;
}

/** The path as OpenAPI writes it, such as `/plants/{id}`. */
export function pathTemplate({ url }: Operation): string {
  return url.replaceAll(/:(\w+)/g, '{$1}');
}

function describe(operationId: string, operation: Operation, tag: string) {
  const { method, scope, summary, description, body, success } = operation;
  const parameters = parametersOf(operation);
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    ...(scope ? { security: [{ bearerAuth: [scope] }] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? { requestBody: { required: !('default' in body), content: { 'application/json': { schema: body } } } }
      : {}),
    responses: {
      [success.status]: answerOf(success, method === 'POST' ? [...RATE_LIMIT, REPLAYED] : RATE_LIMIT),
      ...(operation.headers === IF_NONE_MATCH ? { 304: answerOf(unchanged(success), RATE_LIMIT) } : {}),
      ...referToFailures(operation),
    },
  };
}

function unchanged({ headers = {} }: Success): Success {
  return { status: 304, description: 'The `ETag` in `If-None-Match` is still the current one.', headers };
}

function parametersOf({ method, path = {}, query = {}, headers = {} }: Operation) {
  return [
    ...Object.entries(path).map(([name, schema]) => ({ ...parameter(name, 'path', schema), required: true })),
    ...Object.entries(query).map(([name, schema]) => parameter(name, 'query', schema)),
    ...Object.entries(headers).map(([name, schema]) => parameter(name, 'header', schema)),
    ...(method === 'POST' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
  ];
}

function parameter(name: string, location: string, { description, ...schema }: Schema) {
  // Generated clients repeat the parameter. One parameter with commas is accepted, too.
  const form = schema.type === 'array' ? { style: 'form', explode: true } : {};
  return { name, in: location, description, ...form, schema };
}

function answerOf(
  { description, schema, type = 'application/json', headers = {} }: Success,
  shared: readonly string[],
) {
  return {
    description,
    headers: { ...describeHeaders(headers), ...referToHeaders(shared) },
    ...(schema ? { content: { [type]: { schema } } } : {}),
  };
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    `makes it safe to repeat the request: 1 to ${limits.keyLength} characters, quoted or not; a retry with the same key ` +
    `and body gets the recorded answer for ${limits.keptMs / 3_600_000} hours, with \`Idempotent-Replayed: true\``,
  schema: { type: 'string' },
};

const busy = {
  description:
    'The receiver is overloaded: the delivery is retried. With `Retry-After` (seconds or a date, up to 24 hours) ' +
    'nothing is sent to the webhook until then.',
  headers: describeHeaders({ 'Retry-After': 'When the receiver accepts requests again.' }),
};

/** What a receiver gets. */
export const newPlant = {
  operationId: 'newPlant',
  summary: 'New Plant',
  description:
    "Sent to every webhook of the plant's owner, and of the users that the owner shares with, when a plant is added; " +
    'the plant, its event and its deliveries are one transaction. Delivered at least once: `webhook-id` is the same on ' +
    'every attempt, so use it to detect duplicates. Any 2xx answer within 15 seconds is a success; redirects are not ' +
    "followed. The signature follows Standard Webhooks and does not use this service's bearer token. A test event, " +
    'which the owner of the webhook requests, is the same with `ce-type: plant.test` and a plant that is not in the ' +
    'store.',
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
    traceparent: 'The trace in which the plant was added, if the service exports traces (W3C Trace Context).',
    tracestate: 'The state of the same trace, if the client that added the plant sent one.',
  }).map(([name, description]) => ({
    name,
    in: 'header',
    required: !name.startsWith('trace'),
    description,
    schema: { type: 'string' },
  })),
  requestBody: { required: true, content: { 'application/json': { schema: PlantCreatedPayload } } },
  responses: {
    '2XX': { description: 'Received.' },
    410: {
      description: 'The receiver is gone: the webhook is disabled, and its pending deliveries are held.',
    },
    429: busy,
    503: busy,
    default: { description: 'A failure: the delivery is retried by the retry schedule.' },
  },
};
