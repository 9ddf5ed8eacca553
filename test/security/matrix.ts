import type { Scope } from '../../src/access/scopes.ts';
import type { ErrorCode } from '../../src/errors.ts';
import type { Operation } from './operations.ts';

/** A status of success, or the code of a failure. */
export type Outcome = 200 | 201 | 202 | 204 | ErrorCode;

/** What each caller gets when an operation targets the owner's data. */
export type Row = {
  /** Absent where any token is enough. */
  scope?: Scope;
  body?: unknown;
  owner: Outcome;
  /** A user with whom the owner shares. */
  viewer: Outcome;
  /** Any other user with a valid token. */
  other: Outcome;
  /** Whether the answer shows the owner's plant to the owner and the viewer. */
  showsPlants?: true;
};

/** What a caller with an unsuitable token gets from any operation. */
export const refusals = {
  'no token': 40100,
  'another scheme': 40100,
  'a malformed header': 40005,
  'an unknown token': 40101,
  'a mistyped token': 40101,
  'a revoked token': 40101,
  'an expired token': 40102,
  'a token of a disabled user': 40101,
  'a token of a deleted user': 40101,
  'a token with every other scope': 40300,
} as const satisfies Record<string, ErrorCode>;

/** By `operationId`. A missing or extra row fails the test. */
export const rows: Readonly<Record<Operation['operationId'], Row>> = {
  createPlant: {
    scope: 'plants:write',
    body: { name: 'A plant of the caller' },
    owner: 201,
    viewer: 201,
    other: 201,
  },
  listPlants: { scope: 'plants:read', owner: 200, viewer: 200, other: 200, showsPlants: true },
  deletePlant: { scope: 'plants:write', owner: 204, viewer: 40401, other: 40401 },

  createWebhook: {
    scope: 'webhooks:write',
    body: { url: 'http://127.0.0.1:9/' },
    owner: 201,
    viewer: 201,
    other: 201,
  },
  listWebhooks: { scope: 'webhooks:read', owner: 200, viewer: 200, other: 200 },
  getWebhook: { scope: 'webhooks:read', owner: 200, viewer: 40402, other: 40402 },
  changeWebhook: {
    scope: 'webhooks:write',
    body: { url: 'http://127.0.0.1:10/', description: 'Taken over' },
    owner: 200,
    viewer: 40402,
    other: 40402,
  },
  deleteWebhook: { scope: 'webhooks:write', owner: 204, viewer: 40402, other: 40402 },
  rotateSecret: { scope: 'webhooks:write', owner: 200, viewer: 40402, other: 40402 },
  testWebhook: { scope: 'webhooks:write', owner: 202, viewer: 40402, other: 40402 },

  listDeliveries: {
    scope: 'webhooks:read',
    owner: 200,
    viewer: 40402,
    other: 40402,
    showsPlants: true,
  },
  // Nobody but the owner has a webhook.
  listAllDeliveries: { scope: 'webhooks:read', owner: 200, viewer: 200, other: 200 },
  getDelivery: { scope: 'webhooks:read', owner: 200, viewer: 40402, other: 40402, showsPlants: true },
  redeliver: { scope: 'webhooks:write', owner: 202, viewer: 40402, other: 40402, showsPlants: true },
  replay: {
    scope: 'webhooks:write',
    body: { since: '2026-01-01T00:00:00Z' },
    owner: 202,
    viewer: 40402,
    other: 40402,
  },

  listEvents: { scope: 'webhooks:read', owner: 200, viewer: 200, other: 200, showsPlants: true },
  getActivity: { scope: 'webhooks:read', owner: 200, viewer: 200, other: 200 },
  getMe: { owner: 200, viewer: 200, other: 200 },
  listTokens: { scope: 'tokens:read', owner: 200, viewer: 200, other: 200 },
  createToken: {
    scope: 'tokens:write',
    body: { label: 'Of the caller' },
    owner: 201,
    viewer: 201,
    other: 201,
  },
  rotateToken: { scope: 'tokens:write', owner: 200, viewer: 40404, other: 40404 },
  revokeToken: { scope: 'tokens:write', owner: 204, viewer: 40404, other: 40404 },
  // Starts with future events.
  streamEvents: { scope: 'webhooks:read', owner: 200, viewer: 200, other: 200 },
};

export function isFailure(outcome: Outcome): outcome is ErrorCode {
  return outcome > 999;
}
