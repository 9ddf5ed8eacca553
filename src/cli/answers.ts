import type { ApiRequest } from '../../packages/client/src/requests.ts';
import { Id, Name, Tag } from '../plants/plant.ts';
import { DeliveryView, DeliveryWithHistory } from '../webhooks/delivery-view.ts';
import { EventView } from '../webhooks/event.ts';
import { RotatedSecret, WebhookCreated, WebhookView } from '../webhooks/webhook.ts';
import { Failure } from './failure.ts';

/** The part of a JSON schema that is looked at: whether there is what the verbs read, and of which type. */
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

/** What the verbs read of the answers, by request. */
const SCHEMAS: readonly (readonly [request: RegExp, schema: Schema])[] = [
  [/^GET me$/, objectOf({ user: text })],
  [/^GET plants$/, listOf(objectOf({ id: Id, name: Name, tag: Tag, owner: text }, 'tag'))],
  [/^GET webhooks$/, listOf(WebhookView)],
  [/^POST webhooks$/, WebhookCreated],
  [/^(?:GET|PATCH) webhooks\/[^/]+$/, WebhookView],
  [/\/rotate-secret$/, RotatedSecret],
  [/\/replay$/, objectOf({ count: { type: 'integer' } })],
  [/\/deliveries$/, listOf(DeliveryView)],
  [/^GET .*\/deliveries\/[^/]+$/, DeliveryWithHistory],
  [/\/(?:test|redeliver)$/, DeliveryView],
  [/^GET events\/stream$/, EventView],
];

/** Throws a `Failure` for an answer without what the verbs read of it: from here on the types of the client hold. */
export function refuseUnknown({ method = 'GET', path }: ApiRequest, answer: unknown): void {
  const request = `${method} ${path.join('/')}`;
  const [, schema] = SCHEMAS.find(([each]) => each.test(request)) ?? [];
  if (schema !== undefined) check(answer, schema, 'It');
}

/** What is no object, list or integer is a text. A later version may know more values of an `enum`. */
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
    `The answer is not one that this version of plant-store knows. ${what} is not ${expected}.`,
  );
}
