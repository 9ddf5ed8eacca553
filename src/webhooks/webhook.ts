import type { FromSchema } from 'json-schema-to-ts';
import { delivery } from '../limits.ts';
import { Id, Name, Tag, TEXT } from '../plants/plant.ts';
import type { Webhook } from './port.ts';

/** The description of a member is also what the message says when its value breaks the rule. */
const Url = {
  type: 'string',
  minLength: 1,
  maxLength: delivery.urlLength,
  pattern: TEXT,
  description: `an https URL of at most ${delivery.urlLength} characters whose host has a public address`,
  examples: ['https://example.com/plants'],
} as const;

const Description = {
  type: 'string',
  maxLength: delivery.descriptionLength,
  pattern: TEXT,
  description: `a string of at most ${delivery.descriptionLength} Unicode code points, without NUL and lone surrogates`,
  examples: ['The greenhouse'],
} as const;

/** The body of `POST /webhooks`. Where the URL may point is the matter of `target.ts`. */
export const WebhookInput = {
  $id: 'WebhookInput',
  type: 'object',
  required: ['url'],
  properties: { url: Url, description: Description },
  additionalProperties: false,
  description: 'The receiver of new plants.',
} as const;
export type WebhookInput = FromSchema<typeof WebhookInput>;

const required = ['id', 'url', 'status', 'publicKey', 'createdAt'] as const;
const properties = {
  id: { type: 'string', description: 'the id of the webhook', examples: ['wh_01k9f3zv7h8q2m5x4c6d0n1r8t'] },
  url: Url,
  description: Description,
  status: { enum: ['enabled', 'disabled'], description: 'whether deliveries are sent' },
  publicKey: {
    type: 'string',
    description: 'the ed25519 key that verifies `v1a` signatures (Standard Webhooks)',
    examples: ['whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4='],
  },
  createdAt: { type: 'string', format: 'date-time', description: 'when the webhook was made (RFC 3339)' },
} as const;

export const WebhookView = {
  $id: 'Webhook',
  type: 'object',
  required,
  properties,
  description: 'A webhook. One without a description has no `description` member.',
} as const;
/** What this service shows is just this; others must expect members that are added later. */
export type WebhookView = FromSchema<typeof WebhookView & { additionalProperties: false }>;

export const WebhookCreated = {
  $id: 'WebhookCreated',
  type: 'object',
  required: [...required, 'secret'],
  properties: {
    ...properties,
    secret: {
      type: 'string',
      description: 'the key that verifies `v1` signatures (Standard Webhooks); shown this once',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    },
  },
  description: 'A webhook that was just made, with its secret.',
} as const;

/** The body of a delivery: the plant as it was created. */
export const PlantCreatedPayload = {
  $id: 'NewPlant',
  type: 'object',
  required: ['id', 'name'],
  properties: { id: Id, name: Name, tag: Tag },
  description: 'The plant that was added to the store, as it was created.',
} as const;

/** What an answer shows of a webhook. */
export function viewOf(webhook: Webhook): WebhookView {
  const { id, url, description, status, publicKey, createdAt } = webhook;
  return {
    id,
    url,
    ...(description === undefined ? {} : { description }),
    status,
    publicKey,
    createdAt: new Date(createdAt).toISOString(),
  };
}
