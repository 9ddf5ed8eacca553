import type { ApiRequest } from '../client/requests.ts';
import { Failure } from './failure.ts';

/** A JSON value: of this type, a list of these, or an object with these members; a name with `?` may be absent. */
type Shape = 'a string' | 'an integer' | readonly [Shape] | { readonly [name: string]: Shape };

const plant = { id: 'an integer', name: 'a string', 'tag?': 'a string' } as const;
const delivery = {
  event: 'a string',
  type: 'a string',
  state: 'a string',
  createdAt: 'a string',
  attempts: 'an integer',
  'nextAttemptAt?': 'a string',
  'reason?': 'a string',
  plant,
} as const;
const attempt = {
  at: 'a string',
  durationMs: 'an integer',
  'address?': 'a string',
  'status?': 'an integer',
  'error?': 'a string',
  'excerpt?': 'a string',
} as const;
const newWebhook = {
  id: 'a string',
  url: 'a string',
  publicKey: 'a string',
  'description?': 'a string',
  'rate?': 'an integer',
} as const;
const webhook = {
  ...newWebhook,
  status: 'a string',
  waiting: 'an integer',
  failed: 'an integer',
  createdAt: 'a string',
  'disabledReason?': 'a string',
  'pausedUntil?': 'a string',
  'oldestWaitingAge?': 'an integer',
  'lastSuccessAt?': 'a string',
  'lastFailureAt?': 'a string',
} as const;

/** What the verbs read of the answers, by request. */
const SHAPES: readonly (readonly [request: RegExp, shape: Shape])[] = [
  [/^GET me$/, { user: 'a string' }],
  [/^GET plants$/, [{ ...plant, owner: 'a string' }]],
  [/^GET webhooks$/, [webhook]],
  [/^POST webhooks$/, { ...newWebhook, secret: 'a string' }],
  [/^(?:GET|PATCH) webhooks\/[^/]+$/, webhook],
  [/\/rotate-secret$/, { secret: 'a string', overlapUntil: 'a string' }],
  [/\/replay$/, { count: 'an integer' }],
  [/\/deliveries$/, [delivery]],
  [/^GET .*\/deliveries\/[^/]+$/, { ...delivery, history: [attempt] }],
  [/\/(?:test|redeliver)$/, delivery],
  [/^GET events\/stream$/, { id: 'a string', type: 'a string', createdAt: 'a string', plant }],
];

/** Throws a `Failure` for an answer without what the verbs read of it: from here on the types of the client hold. */
export function refuseUnknown({ method = 'GET', path }: ApiRequest, answer: unknown): void {
  const request = `${method} ${path.join('/')}`;
  const [, shape] = SHAPES.find(([each]) => each.test(request)) ?? [];
  if (shape !== undefined) check(answer, shape, 'It');
}

function check(value: unknown, shape: Shape, what: string): void {
  if (shape === 'a string' || shape === 'an integer') {
    const isRight =
      shape === 'a string' ? typeof value === 'string' : Number.isInteger(value) || typeof value === 'bigint';
    if (!isRight) throw unknown(what, shape);
  } else if (Array.isArray(shape)) {
    if (!Array.isArray(value)) throw unknown(what, 'an array');
    for (const item of value) check(item, shape[0], 'An item of it');
  } else {
    if (typeof value !== 'object' || value === null) throw unknown(what, 'an object');
    const members = new Map(Object.entries(value));
    for (const [key, member] of Object.entries(shape)) {
      const name = key.replace('?', '');
      if (name === key || members.has(name)) check(members.get(name), member, `Its "${name}"`);
    }
  }
}

function unknown(what: string, expected: string): Failure {
  return new Failure(
    `The answer is not one that this version of plant-store knows. ${what} is not ${expected}.`,
  );
}
