import fc from 'fast-check';
import type { Parameter } from '../../../testkit/contract/document.ts';
import { bodyOf, type Draft, draftOf, type Member, withBytes } from '../draft.ts';
import { type Fixtures, listOf, PLANTS } from '../fixtures.ts';
import { asJson, plantIds, type Special, validMembers } from './values.ts';

/** A request that must be accepted, and its meaning. */
export type Valid = {
  draft: Draft;
  params: Readonly<Record<string, string>>;
  /** Decoded. */
  query: Readonly<Record<string, string>>;
  members: readonly Member[];
};

/** Requests that fit an operation in the document, in all spellings. */
export function validRequests(fixtures: Fixtures, receiver: string): fc.Arbitrary<Valid> {
  const { operation, tokens } = fixtures;
  const parameters = (place: Parameter['in']) =>
    operation.parameters.filter((parameter) => parameter.in === place);
  const { body } = operation;
  const members = body ? validMembers(body.schema, specialOf(receiver)) : fc.constant([]);
  const absent = body?.isRequired === false ? fc.boolean() : fc.constant(false);
  return fc
    .record({
      params: fc.record(
        Object.fromEntries(parameters('path').map(({ name }) => [name, pathParameter(name, fixtures)])),
      ),
      query: validQuery(parameters('query'), fixtures),
      members,
      space: fc.constantFrom('', '', ' ', '\n\t', '\r\n  '),
      isAbsent: absent,
      isBehind: fc.boolean(),
      encoding: fc.constantFrom<Encoding>('plain', 'plain', 'whole', 'last'),
      variation: fc.constantFrom(...VARIATIONS),
    })
    .map(({ params, query, members, space, isAbsent, isBehind, encoding, variation }) => {
      const given = coherent(operation.id, params, query, fixtures);
      const path = operation.path.replace(/\{(\w+)\}/g, (_, name) =>
        encode(given.params[name] ?? '', encoding),
      );
      const pairs = Object.entries(given.query).map(
        ([name, text]) => `${encode(name, encoding)}=${encode(text, encoding)}`,
      );
      const bare = { ...draftOf(operation.method, path, tokens.full), query: pairs.join('&') };
      const plain =
        isBehind && operation.id === 'streamEvents'
          ? line(`Last-Event-ID: ${fixtures.cursors.events}`)(bare)
          : bare;
      const draft =
        !body || isAbsent ? plain : { ...plain, contentType: 'application/json', body: { members, space } };
      return { draft: variation(draft), ...given, members: body && !isAbsent ? members : [] };
    });
}

function pathParameter(
  name: string,
  { operation, webhooks, events, plants, tokenIds }: Fixtures,
): fc.Arbitrary<string> {
  if (operation.path === '/plants/{id}') return fc.oneof(plantIds.map(String), fc.constantFrom(...plants));
  if (operation.path.startsWith('/tokens/')) return fc.constantFrom(...tokenIds);
  return name === 'event' ? fc.constantFrom(...events) : fc.constantFrom(...webhooks);
}

type Query = Readonly<Record<string, string>>;

function validQuery(
  parameters: readonly Parameter[],
  { cursors, operation, webhooks }: Fixtures,
): fc.Arbitrary<Query> {
  const texts: Readonly<Record<string, readonly string[]>> = {
    name: ['', 'p', 'PLANT', 'plANT', 'x'],
    webhook: [...webhooks, 'wh_none'],
    plant: [...PLANTS, '3'],
    from: [...PLANTS, '3'],
    since: TIMES,
    until: TIMES,
    cursor: [cursors[listOf(operation)]],
  };
  const values = parameters.map(({ name, schema }): [string, fc.Arbitrary<string>] => {
    const choices = schema.items?.enum ?? schema.enum;
    if (schema.type === 'array' && choices) {
      const parts = fc.shuffledSubarray([...choices], { minLength: 1 });
      return [name, parts.map((chosen) => chosen.join())];
    }
    if (choices) return [name, fc.constantFrom(...choices)];
    const known = texts[name];
    if (known) return [name, fc.constantFrom(...known)];
    if (schema.type === 'integer') {
      const { minimum = 1, maximum = 1 } = schema;
      return [
        name,
        fc.oneof(fc.integer({ min: minimum, max: 9 }), fc.constantFrom(minimum, maximum)).map(String),
      ];
    }
    throw new Error(`No value is known for the parameter ${name}.`);
  });
  const all: fc.Arbitrary<Query> = fc.record(Object.fromEntries(values));
  const names = values.map(([name]) => name);
  return fc
    .tuple(all, fc.subarray(names))
    .map(([query, chosen]) => Object.fromEntries(chosen.map((name) => [name, query[name] ?? ''])));
}

/** Long past, and far ahead. */
const TIMES = ['1999-12-31T23:59:59Z', '1969-01-01t00:00:00z', '2099-01-01T00:00:00.5Z'];

/**
 * A list has one order. The cursors belong to lists without a filter and without an order, that of deliveries to one
 * webhook, and only the first two webhooks have deliveries.
 */
function coherent(id: string, params: Query, query: Query, { webhooks }: Fixtures) {
  const [held = '', open = '', last] = webhooks;
  if (id === 'listAllDeliveries' && query.cursor !== undefined) {
    const { cursor, limit } = query;
    return { params, query: limit === undefined ? { cursor } : { cursor, limit } };
  }
  if (id === 'listPlants' && (query.cursor ?? query.name) !== undefined) {
    const { order: _order, from: _from, name, ...others } = query;
    return { params, query: name === undefined || query.cursor !== undefined ? others : { ...others, name } };
  }
  if (id === 'listDeliveries' && query.cursor !== undefined) {
    const { state: _, ...others } = query;
    return { params: { id: held }, query: others };
  }
  if ('event' in params && params.id === last) return { params: { ...params, id: open }, query };
  return { params, query };
}

function specialOf(receiver: string): Special {
  const urls = [
    receiver,
    `${receiver}?a=b&c=%20`,
    'https://127.0.0.1:9/',
    'http://127.1.2.3:9/a/b?c#d',
    'HTTP://127.0.0.1:9',
    'http://127.0.0.1:9/\u00fc',
  ];
  const times = fc
    .tuple(
      fc.date({ min: new Date(0), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true }),
      fc.nat(4),
    )
    .map(([date, style]) => spelledTime(date, style));
  return { url: fc.constantFrom(...urls).map(asJson), since: times.map(asJson) };
}

function spelledTime(date: Date, style: number): string {
  const text = date.toISOString();
  if (style === 1) return text.replace(/\.\d+Z/, 'Z');
  if (style === 2) return text.replace('Z', '123456789Z');
  if (style === 3) return text.replace('Z', '+01:30');
  return style === 4 ? text.toLowerCase().replace('z', '-00:00') : text;
}

type Encoding = 'plain' | 'whole' | 'last';

/** Percent-encodes nothing that is optional, everything, or the last character. */
function encode(text: string, encoding: Encoding): string {
  const escaped = (part: string) =>
    [...Buffer.from(part)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  if (encoding === 'whole') return escaped(text);
  return encoding === 'last' ? text.slice(0, -1) + escaped(text.slice(-1)).toUpperCase() : text;
}

type Variation = (draft: Draft) => Draft;

const asIs: Variation = (draft) => draft;
const line =
  (text: string): Variation =>
  (draft) => ({ ...draft, fields: [...draft.fields, text] });
const typed =
  (contentType: string): Variation =>
  (draft) =>
    draft.body === undefined ? draft : { ...draft, contentType };
const authorized =
  (change: (value: string) => string): Variation =>
  (draft) => ({ ...draft, authorization: draft.authorization.map(change) });

/** Differences that do not change a request's meaning. */
const VARIATIONS: readonly Variation[] = [
  ...Array<Variation>(12).fill(asIs),
  (draft) => (draft.body === undefined ? draft : { ...draft, framing: 'chunked' }),
  (draft) => (draft.body === undefined ? draft : line('Expect: 100-continue')(draft)),
  (draft) => (draft.body === undefined ? draft : withBytes(draft, padded(bodyOf(draft) ?? Buffer.alloc(0)))),
  typed('application/json; charset=utf-8'),
  typed('application/json;charset="UTF-8"'),
  typed('APPLICATION/JSON'),
  authorized((value) => value.replace('Bearer', 'bEARER')),
  authorized((value) => value.replace(' ', '   ')),
  (draft) => ({ ...draft, version: '1.0', host: [] }),
  line('Connection: close'),
  line('Content-Encoding: identity'),
  line('Accept: text/html'),
  line('Accept-Encoding: gzip, br'),
  line('Range: bytes=0-1'),
  line('If-None-Match: *'),
  line('X-HTTP-Method-Override: DELETE'),
  line('X-Forwarded-For: 1.2.3.4'),
  line('Cookie: a=b'),
  line(`X-Long: ${'x'.repeat(20_000)}`),
];

const BODY_BYTES = 64 * 1024;

/** Pads a body to the largest allowed size. */
function padded(body: Buffer): Buffer {
  return Buffer.concat([body, Buffer.alloc(BODY_BYTES - body.length, ' ')]);
}
