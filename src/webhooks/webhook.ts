import { Type } from 'typebox';
import { delivery } from '../limits.ts';
import { Id, Name, Tag, TEXT } from '../plants/plant.ts';
import type { Webhook } from './port.ts';

/** The description of a member is also what the message says when its value breaks the rule. */
const Url = Type.String({
  minLength: 1,
  maxLength: delivery.urlLength,
  pattern: TEXT,
  description: `an https URL of at most ${delivery.urlLength} characters whose host has a public address`,
  examples: ['https://example.com/plants'],
});

const Description = Type.String({
  maxLength: delivery.descriptionLength,
  pattern: TEXT,
  description: `a string of at most ${delivery.descriptionLength} Unicode code points, without NUL and lone surrogates`,
  examples: ['The greenhouse'],
});

/** The body of `POST /webhooks`. Where the URL may point is the matter of `target.ts`. */
export const WebhookInput = Type.Object(
  { url: Url, description: Type.Optional(Description) },
  { $id: 'WebhookInput', additionalProperties: false, description: 'The receiver of new plants.' },
);
export type WebhookInput = Type.Static<typeof WebhookInput>;

const members = {
  id: Type.String({ description: 'the id of the webhook', examples: ['wh_01k9f3zv7h8q2m5x4c6d0n1r8t'] }),
  url: Url,
  description: Type.Optional(Description),
  status: Type.Enum(['enabled', 'disabled'], { description: 'whether deliveries are sent' }),
  publicKey: Type.String({
    description: 'the ed25519 key that verifies `v1a` signatures (Standard Webhooks)',
    examples: ['whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4='],
  }),
  createdAt: Type.String({ format: 'date-time', description: 'when the webhook was made (RFC 3339)' }),
};

export const WebhookView = Type.Object(members, {
  $id: 'Webhook',
  description: 'A webhook. One without a description has no `description` member.',
});
export type WebhookView = Type.Static<typeof WebhookView>;

export const WebhookCreated = Type.Object(
  {
    ...members,
    secret: Type.String({
      description: 'the key that verifies `v1` signatures (Standard Webhooks); shown this once',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    }),
  },
  { $id: 'WebhookCreated', description: 'A webhook that was just made, with its secret.' },
);
export type WebhookCreated = Type.Static<typeof WebhookCreated>;

/** The body of a delivery: the plant as it was created. */
export const PlantCreatedPayload = Type.Object(
  { id: Id, name: Name, tag: Type.Optional(Tag) },
  { $id: 'NewPlant', description: 'The plant that was added to the store, as it was created.' },
);

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
