import type { ApiRequest } from '../../packages/client/src/requests.ts';
import { TokenCreated, TokenRotated, TokenView } from '../access/own-token.ts';
import { Id, Name, Tag } from '../plants/plant.ts';
import { DeliveryView, DeliveryWithHistory } from '../webhooks/delivery-view.ts';
import { EventView } from '../webhooks/event.ts';
import { RotatedSecret, WebhookCreated, WebhookView } from '../webhooks/webhook.ts';
import { Failure } from './failure.ts';

/** The parts of a JSON schema that `check` reads. */
type Schema = {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
};

const listOf = (items: Schema): Schema => ({ items });
const objectOf = (properties: Schema['properties'] = {}, ...optional: readonly string[]): Schema => ({
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
});
const text = { type: 'string' };

/** What the verbs read from each answer, by request. */
const SCHEMAS: readonly (readonly [request: RegExp, schema: Schema])[] = [
  [/^GET me$/, objectOf({ user: text, scopes: listOf(text), expiresAt: text }, 'scopes', 'expiresAt')],
  [/^GET plants$/, listOf(objectOf({ id: Id, name: Name, tag: Tag, owner: text }, 'tag'))],
  [/^GET tokens$/, listOf(TokenView)],
  [/^POST tokens$/, TokenCreated],
  [/^POST tokens\/[^/]+\/rotate$/, TokenRotated],
  [/^GET webhooks$/, listOf(WebhookView)],
  [/^POST webhooks$/, WebhookCreated],
  [/^(?:GET|PATCH) webhooks\/[^/]+$/, WebhookView],
  [/\/rotate-secret$/, RotatedSecret],
  [/\/replay$/, objectOf({ count: { type: 'integer' } })],
  [/^GET deliveries$/, listOf(DeliveryView)],
  [/^GET .*\/deliveries\/[^/]+$/, DeliveryWithHistory],
  [/\/(?:test|redeliver)$/, DeliveryView],
  [/^GET events$/, objectOf({ events: listOf(EventView), cursor: text })],
  [/^GET events\/stream$/, EventView],
];

/** Throws a `Failure` when an answer lacks what the verbs read. Afterwards the client's types hold. */
export function refuseUnknown({ method = 'GET', path }: ApiRequest, answer: unknown): void {
  const request = `${method} ${path.join('/')}`;
  const [, schema] = SCHEMAS.find(([each]) => each.test(request)) ?? [];
  if (schema !== undefined) check(answer, schema, 'It');
}

/** Anything else is a string. The values of an `enum` are not checked: a later version may know more. */
function check(value: unknown, { type, required, properties, items }: Schema, what: string): void {
  if (properties) {
    if (typeof value !== 'object' || value === null) throw unknown(what, 'an object');
    const members = new Map(Object.entries(value));
    for (const [name, member] of Object.entries(properties)) {
      if (required?.includes(name) || members.has(name)) check(members.get(name), member, `Its "${name}"`);
    }
  } else if (items) {
    if (!Array.isArray(value)) throw unknown(what, 'an array');
    for (const item of value) check(item, items, 'An item of it');
  } else if (type === 'integer') {
    if (!Number.isInteger(value) && typeof value !== 'bigint') throw unknown(what, 'an integer');
  } else if (typeof value !== 'string') throw unknown(what, 'a string');
}

function unknown(what: string, expected: string): Failure {
  return new Failure(
    `This version of plant-store does not understand the answer. ${what} is not ${expected}.`,
  );
}
