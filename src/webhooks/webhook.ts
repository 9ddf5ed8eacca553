import type { FromSchema } from 'json-schema-to-ts';
import { rotationInput } from '../access/own-token.ts';
import { delivery } from '../limits.ts';
import { TEXT } from '../plants/plant.ts';
import { timeSchema, timeText } from '../runtime.ts';
import type { Webhook, WebhookHealth } from './port.ts';

/** A member's description is also the error message for a value that breaks its rule. */
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
  description: `a string of at most ${delivery.descriptionLength} Unicode code points, without NUL or lone surrogates`,
  examples: ['The greenhouse'],
} as const;

const Rate = {
  type: 'integer',
  minimum: 1,
  maximum: delivery.rate,
  description: `an integer from 1 to ${delivery.rate}: the most attempts that begin in a second`,
  examples: [50],
} as const;

/** The body of `POST /webhooks`. `target.ts` checks where the URL may point. */
export const WebhookInput = {
  $id: 'WebhookInput',
  type: 'object',
  required: ['url'],
  properties: { url: Url, description: Description, rate: Rate },
  additionalProperties: false,
  description: 'The receiver of new plants.',
} as const;
export type WebhookInput = FromSchema<typeof WebhookInput>;

/** The body of `PATCH /webhooks/{id}`. */
export const WebhookPatch = {
  $id: 'WebhookPatch',
  type: 'object',
  properties: {
    url: Url,
    description: {
      ...Description,
      type: ['string', 'null'],
      description: `${Description.description}, or null for none`,
    },
    rate: { ...Rate, type: ['integer', 'null'], description: `${Rate.description}, or null for no limit` },
    enabled: { type: 'boolean', description: 'true or false: whether deliveries are sent' },
  },
  additionalProperties: false,
  description: 'The members to change; the others stay as they are.',
} as const;
export type WebhookPatch = FromSchema<typeof WebhookPatch>;

/** The body of `POST /webhooks/{id}/rotate-secret`. */
export const RotationInput = rotationInput('RotationInput', 'secret', 'signing', delivery.overlapSeconds);
export type RotationInput = FromSchema<typeof RotationInput>;

const Secret = {
  type: 'string',
  description: 'the key that verifies `v1` signatures (Standard Webhooks); shown only once',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
} as const;

/** The response of `POST /webhooks/{id}/rotate-secret`. */
export const RotatedSecret = {
  $id: 'RotatedSecret',
  type: 'object',
  required: ['secret', 'overlapUntil'],
  properties: {
    secret: Secret,
    overlapUntil: timeSchema('until when the old secret also signs'),
  },
  description: 'The new secret.',
} as const;

const required = ['id', 'url', 'status', 'publicKey', 'createdAt', 'waiting', 'failed'] as const;
const properties = {
  id: { type: 'string', description: 'the id of the webhook', examples: ['wh_01k9f3zv7h8q2m5x4c6d0n1r8t'] },
  url: Url,
  description: Description,
  rate: Rate,
  status: {
    enum: ['enabled', 'disabled'],
    description: 'whether deliveries are sent; if not, they are held',
  },
  disabledReason: { type: 'string', description: 'why it is disabled; absent if you disabled it' },
  pausedUntil: timeSchema(
    'nothing is sent before this time, because the receiver requested a pause; absent without a pause',
  ),
  publicKey: {
    type: 'string',
    description: 'the ed25519 key that verifies `v1a` signatures (Standard Webhooks)',
    examples: ['whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4='],
  },
  createdAt: timeSchema('when the webhook was created (RFC 3339)'),
  lastSuccessAt: timeSchema('when an attempt last succeeded'),
  lastFailureAt: timeSchema('when an attempt last failed'),
  waiting: { type: 'integer', minimum: 0, description: 'how many deliveries are pending or held' },
  failed: { type: 'integer', minimum: 0, description: 'how many deliveries failed for good' },
  oldestWaitingAge: {
    type: 'integer',
    minimum: 0,
    description: 'how many seconds ago the oldest waiting event happened; absent when none waits',
  },
} as const;

export const WebhookView = {
  $id: 'Webhook',
  type: 'object',
  required,
  properties,
  description: 'A webhook and its health. Members without a value are left out.',
} as const;
/** This service sends exactly these members; clients must accept further ones in the future. */
export type WebhookView = FromSchema<typeof WebhookView & { additionalProperties: false }>;

export const WebhookCreated = {
  $id: 'WebhookCreated',
  type: 'object',
  required: [...required, 'secret'],
  properties: { ...properties, secret: Secret },
  description: 'A new webhook with its secret.',
} as const;

export type WebhookWithHealth = { webhook: Webhook; health: WebhookHealth };

/**
 * A webhook as a response shows it. JSON leaves out undefined members.
 * @param now milliseconds
 */
export function viewOf({ webhook, health }: WebhookWithHealth, now: number): Shown<WebhookView> {
  const { id, url, description, rate, status, disabledReason, publicKey, pausedUntil } = webhook;
  const { waiting, failed, oldestWaitingAt } = health;
  return {
    id,
    url,
    description,
    rate,
    status,
    disabledReason,
    pausedUntil: pausedUntil !== undefined && pausedUntil > now ? timeText(pausedUntil) : undefined,
    publicKey,
    createdAt: timeText(webhook.createdAt),
    lastSuccessAt: webhook.lastSuccessAt === undefined ? undefined : timeText(webhook.lastSuccessAt),
    lastFailureAt: webhook.lastFailureAt === undefined ? undefined : timeText(webhook.lastFailureAt),
    waiting,
    failed,
    // The clock may have been set back since.
    oldestWaitingAge:
      oldestWaitingAt === undefined ? undefined : Math.max(0, Math.floor((now - oldestWaitingAt) / 1000)),
  };
}

/** A view whose optional members may be undefined. */
type Shown<View> = { [Member in keyof View]: View[Member] | undefined };
