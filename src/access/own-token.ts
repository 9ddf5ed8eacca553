import type { FromSchema } from 'json-schema-to-ts';
import { access as limits } from '../limits.ts';
import { timeSchema, timeText } from '../runtime.ts';
import type { StoredToken } from './port.ts';
import { scopes } from './scopes.ts';
import { LABEL_TEXT, labelRule } from './tokens.ts';

/** The bodies of requests and responses about a user's own tokens. */

const Scopes = {
  type: 'array',
  items: { $id: 'Scope', enum: scopes, description: 'What a token may do.' },
} as const;

/** The body of `POST /tokens`, which may be absent. A member's description is also the error message. */
export const TokenInput = {
  $id: 'TokenInput',
  type: 'object',
  properties: {
    label: {
      type: 'string',
      maxLength: limits.labelLength,
      pattern: LABEL_TEXT,
      description: `a string of ${labelRule}: what the token is for`,
      examples: ['nightly import'],
    },
    scopes: {
      ...Scopes,
      minItems: 1,
      uniqueItems: true,
      description: `a list of ${scopes.join(', ')}, each at most once: what the token may do; without it, what yours may do`,
      examples: [['plants:write']],
    },
    expiresIn: {
      type: 'integer',
      minimum: 1,
      maximum: limits.tokenLifetimeSeconds,
      description:
        `an integer from 1 to ${limits.tokenLifetimeSeconds}: after how many seconds the token expires; without it, ` +
        'when yours does, or never',
      examples: [7_776_000],
    },
  },
  additionalProperties: false,
  default: {},
  description: 'The token to create. It can do no more and lasts no longer than yours.',
} as const;
export type TokenInput = FromSchema<typeof TokenInput>;

/** The body of `POST /tokens/{id}/rotate`. */
export const TokenRotationInput = rotationInput('TokenRotationInput', 'token', 'working', {
  default: limits.tokenOverlapMs.default / 1000,
  most: limits.tokenOverlapMs.most / 1000,
});
export type TokenRotationInput = FromSchema<typeof TokenRotationInput>;

/**
 * The body of a rotation, which may be absent.
 * @param keeps what the old one goes on doing, such as `signing`
 */
export function rotationInput(
  $id: string,
  noun: string,
  keeps: string,
  { default: usual, most }: { default: number; most: number },
) {
  return {
    $id,
    type: 'object',
    properties: {
      overlap: {
        type: 'integer',
        minimum: 0,
        maximum: most,
        description: `an integer from 0 to ${most}: for how many seconds the old ${noun} keeps ${keeps}; without it, ${usual}`,
        examples: [usual],
      },
    },
    additionalProperties: false,
    default: {},
    description: `How the old ${noun} ends.`,
  } as const;
}

const required = ['id', 'label', 'scopes', 'createdAt'] as const;
const properties = {
  id: { type: 'string', description: 'the id of the token', examples: ['tok_01k9f3zv7h8q2m5x4c6d0n1r8t'] },
  label: { type: 'string', description: 'what the token is for; may be empty' },
  scopes: { ...Scopes, description: 'what the token may do' },
  createdAt: timeSchema('when the token was created (RFC 3339)'),
  expiresAt: timeSchema('when the token expires; absent if it never does'),
  lastUsedOn: {
    type: 'string',
    format: 'date',
    description:
      'the UTC day on which it was last used; absent if it was not used since the service began to record this',
  },
} as const;

export const TokenView = {
  $id: 'Token',
  type: 'object',
  required,
  properties,
  description: 'A token, without the token itself.',
} as const;
/** This service sends exactly these members; clients must accept further ones in the future. */
export type TokenView = FromSchema<typeof TokenView & { additionalProperties: false }>;

const created = {
  ...properties,
  token: {
    type: 'string',
    description: 'the token, shown only once: absent when the response is a replay under an Idempotency-Key',
    examples: ['pst_…'],
  },
} as const;

export const TokenCreated = {
  $id: 'TokenCreated',
  type: 'object',
  required,
  properties: created,
  description: 'A new token.',
} as const;

export const TokenRotated = {
  $id: 'TokenRotated',
  type: 'object',
  required: [...required, 'overlapUntil'],
  properties: {
    ...created,
    overlapUntil: timeSchema('until when the old token works'),
  },
  description: 'The new token, with the label and the scopes of the old one.',
} as const;

export type OwnToken = Pick<
  StoredToken,
  'id' | 'label' | 'scopes' | 'createdAt' | 'expiresAt' | 'lastUsedOn'
>;

/** A token as a response shows it. JSON leaves out undefined members. */
export function tokenView(token: OwnToken): Record<keyof TokenView, unknown> {
  const { id, label, scopes, createdAt, expiresAt, lastUsedOn } = token;
  return {
    id,
    label,
    scopes,
    createdAt: timeText(createdAt),
    expiresAt: expiresAt === undefined ? undefined : timeText(expiresAt),
    lastUsedOn,
  };
}
