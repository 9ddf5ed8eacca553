import fc from 'fast-check';
import type { Operation, Schema } from '../../../testkit/contract/document.ts';
import type { Draft } from '../draft.ts';
import { type Mutation, mutation } from './mutation.ts';

/** What can be wrong with the query of an operation. */
export function queryMutations(
  operation: Operation,
  badCursors: readonly string[],
): fc.Arbitrary<Mutation>[] {
  const parameters = operation.parameters.filter((parameter) => parameter.in === 'query');
  const known = parameters.map(({ name }) => name);
  const wrong = parameters.flatMap(({ name, schema }) =>
    wrongTexts(schema).map((text) => replaced(name, text)),
  );
  return [
    unknown(known),
    fc.constantFrom(...UNREADABLE).map((text) => added([40003], text)),
    ...(wrong.length > 0 ? [fc.constantFrom(...wrong), repeated(known)] : []),
    ...(known.includes('cursor') ? [wrongCursor(badCursors)] : []),
  ];
}

const UNREADABLE = ['=1', '&', '&&', '%', '%z=1', 'x=%', 'x=%ff', 'x=%c0%af', '%ed%a0%80=1', 'limit=%'];
const UNKNOWN = [
  'access_token',
  'token',
  'Limit',
  'limit[]',
  'limit%20',
  '__proto__',
  'constructor',
  'offset',
  'page',
  'x',
];

function unknown(known: readonly string[]): fc.Arbitrary<Mutation> {
  const names = fc.oneof(
    fc.constantFrom(...UNKNOWN),
    fc.string({ minLength: 1, maxLength: 30 }).map(encodeURIComponent),
  );
  return fc
    .tuple(
      names.filter((name) => !known.includes(decodeURIComponent(name))),
      fc.constantFrom('', '=', '=1', '=null', '=%00'),
    )
    .map(([name, value]) => added([40003], name + value));
}

/** Repeats a parameter with the same or another value; its name may be percent-encoded the second time. */
function repeated(known: readonly string[]): fc.Arbitrary<Mutation> {
  return fc.tuple(fc.constantFrom(...known), fc.boolean()).map(([name, isEncoded]) =>
    mutation('query', [40003], `${name} twice`, (draft) => {
      const again = isEncoded ? encodedWhole(name) : name;
      return { ...draft, query: `${without(draft, name)}${name}=1&${again}=1` };
    }),
  );
}

const COUNTS = [
  '',
  '0',
  '-1',
  '01',
  '+1',
  '1.0',
  '1e1',
  '0x1',
  '%201',
  '1%20',
  'NaN',
  'Infinity',
  'null',
  '1,2',
  '%D9%A1',
];

const IDS = [
  '',
  '01',
  '-0',
  '+1',
  '1.0',
  '1e1',
  '--1',
  '9223372036854775808',
  '-9223372036854775809',
  'null',
  '%201',
];
const TIMES = [
  '',
  'now',
  '0',
  '2026-01-01',
  '2026-02-30T00:00:00Z',
  '2026-01-01T00:00:60Z',
  '%00',
  '2026-01-01T00:00:00',
];

/** Values that break a parameter's rule. */
function wrongTexts(schema: Schema): string[] {
  if (schema.format === 'int64') return IDS;
  if (schema.format === 'date-time') return TIMES;
  if (schema.maxLength !== undefined) return ['%00', 'x'.repeat(schema.maxLength + 1)];
  if (schema.type === 'integer') return [...COUNTS, String((schema.maximum ?? 0) + 1), '9'.repeat(400)];
  const { enum: choices } = schema.items ?? schema;
  if (!choices) return [];
  const [first = '', second = ''] = choices;
  const others = [
    '',
    ' ',
    first.toUpperCase(),
    `${first}%20`,
    `%20${first}`,
    `${first};${second}`,
    'null',
    '%00',
  ];
  if (schema.type !== 'array') return [...others, `${first},${second}`];
  return [
    ...others,
    `${first},${first}`,
    `${first},`,
    `,${first}`,
    `${first},,${second}`,
    `${choices.join()},x`,
  ];
}

function replaced(name: string, text: string): Mutation {
  return mutation('query', [40003], `${name}=${text}`, (draft) => ({
    ...draft,
    query: `${without(draft, name)}${name}=${text}`,
  }));
}

/** Cursors of other lists, users and services, and invalid ones. */
function wrongCursor(bad: readonly string[]): fc.Arbitrary<Mutation> {
  const made = ['', '0', '.', '1.1.1', 'null', '%00', '-', 'x'.repeat(2_000), '1.7.0', '..', '%F0%9F%8C%B1'];
  const broken = bad.map((cursor) => `${cursor.slice(0, -1)}${cursor.endsWith('0') ? 1 : 0}`);
  const longer = bad.map((cursor) => `${cursor}%20`);
  return fc.constantFrom(...made, ...bad, ...broken, ...longer).map((cursor) =>
    mutation('query', [40007], `cursor=${cursor}`, (draft) => ({
      ...draft,
      // `from` excludes a cursor, which is then not read.
      query: `${without({ ...draft, query: without(draft, 'from') }, 'cursor')}cursor=${cursor}`,
    })),
  );
}

function added(codes: Mutation['codes'], text: string): Mutation {
  return mutation('query', codes, text, (draft) => ({
    ...draft,
    query: draft.query === '' ? text : `${draft.query}&${text}`,
  }));
}

/** Removes this parameter from the query. */
function without({ query }: Draft, name: string): string {
  const parts = query
    .split('&')
    .filter((part) => part !== '' && decodeURIComponent(part.split('=')[0] ?? '') !== name);
  return parts.map((part) => `${part}&`).join('');
}

function encodedWhole(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}
