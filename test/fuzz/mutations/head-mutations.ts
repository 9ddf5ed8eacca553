import fc from 'fast-check';
import type { Operation } from '../../../testkit/contract/document.ts';
import { type Draft, withJson } from '../draft.ts';
import type { Tokens } from '../ground.ts';
import { type Mutation, mutation } from './mutation.ts';

/** What can be wrong with the request line and the header fields of an operation. */
export function headMutations(
  operation: Operation,
  tokens: Tokens,
  badCursors: readonly string[],
): fc.Arbitrary<Mutation>[] {
  return [
    fc.constantFrom(...authorizations(operation, tokens)),
    fc.constantFrom(...authorizations(operation, tokens)),
    fc.constantFrom(...HEADERS),
    fc.constantFrom(...METHODS.map(wrongMethod)),
    ...(operation.method === 'POST' ? [wrongKey()] : []),
    ...(operation.id === 'streamEvents' ? [fc.constantFrom(...badCursors.map(wrongLastId))] : []),
  ];
}

const CHALLENGE = 'Bearer realm="plant-store"';

/** Contract, section 2. */
function authorizations(
  { scope, path }: Operation,
  { full, other, expired, revoked, powerless }: Tokens,
): Mutation[] {
  const given = (codes: Mutation['codes'], challenge: string, ...authorization: string[]): Mutation => ({
    ...mutation('head', codes, `Authorization: ${authorization.join(' | ')}`, (draft) => ({
      ...draft,
      authorization,
    })),
    challenge,
  });
  const malformed = `${CHALLENGE}, error="invalid_request"`;
  const invalid = `${CHALLENGE}, error="invalid_token"`;
  return [
    given([40100], CHALLENGE),
    ...['Basic dXNlcjpwYXNz', `Token ${full}`, `Bearer2 ${full}`, full, 'Digest x'].map((value) =>
      given([40100], CHALLENGE, value),
    ),
    ...[
      '',
      'Bearer',
      'Bearer ',
      'bearer  ',
      `Bearer ${full} x`,
      `Bearer a${'b'.repeat(4096)}`,
      'Bearer t\u00f6ken',
    ].map((value) => given([40005], malformed, value)),
    given([40005], malformed, `Bearer ${full}`, `Bearer ${full}`),
    given([40005], malformed, `Bearer ${full}`, `Bearer ${other}`),
    ...[
      'x',
      full.slice(0, -1),
      `${full}0`,
      mistyped(full),
      full.toLowerCase(),
      `pst_${'0'.repeat(38)}`,
      revoked,
      'a.b.c',
      NONE_JWT,
    ].map((token) => given([40101], invalid, `Bearer ${token}`)),
    // Whoever creates and revokes many tokens has the oldest that ended removed.
    given(path.startsWith('/tokens') ? [40102, 40101] : [40102], invalid, `Bearer ${expired}`),
    ...(scope === undefined
      ? []
      : [
          given([40300], `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`, `Bearer ${powerless}`),
        ]),
  ];
}

/** `{"alg":"none"}`, `{"sub":"admin"}` and no signature. */
const NONE_JWT = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.';

function mistyped(token: string): string {
  return token.slice(0, 10) + (token[10] === 'a' ? 'b' : 'a') + token.slice(11);
}

const HEADERS: readonly Mutation[] = [
  line([40000], 'Host: twice'),
  mutation('head', [40000], 'no Host', (draft) => ({ ...draft, host: [] })),
  // 40000 if the request already has the header.
  line([41700, 40000], 'Expect: x'),
  line([41700, 40000], 'Expect: 100-continue, x'),
  line([40000], 'Bad Name: x'),
  line([40000], 'No-Colon'),
  line([40000], ': x'),
  line([40000], 'X-Nul: a\0b'),
  line([40000], 'X-Return: a\rb'),
  line([43100], `X-Large: ${'x'.repeat(33_000)}`),
  framed([50100], 'Transfer-Encoding: gzip, chunked'),
  framed([40000], 'Transfer-Encoding: chunked', 'Content-Length: 5'),
  framed([40000], 'Content-Length: 5', 'Content-Length: 5'),
  framed([40000], 'Content-Length: 5', 'Content-Length: 6'),
  framed([40000], 'Content-Length: -1'),
  framed([40000], 'Content-Length: 5x'),
  framed([40000], 'Content-Length: 99999999999999999999999'),
  mutation('head', [50500], 'HTTP/2.0', (draft) => ({ ...draft, version: '2.0' })),
  mutation('head', [50500], 'HTTP/3.0', (draft) => ({ ...draft, version: '3.0' })),
  mutation('head', [41400], 'a long URL', (draft) => ({ ...draft, query: `x=${'x'.repeat(8_200)}` })),
];

function line(codes: Mutation['codes'], text: string): Mutation {
  return mutation('head', codes, text.slice(0, 40), (draft) => ({
    ...draft,
    fields: [...draft.fields, text],
  }));
}

/** Only the given framing; the bytes after it are the single chunk. */
function framed(codes: Mutation['codes'], ...lines: string[]): Mutation {
  return mutation('body', codes, lines.join(', '), (draft) => ({
    ...withJson(draft, '0\r\n\r\n'),
    framing: 'none',
    fields: [...draft.fields, ...lines],
  }));
}

/** Unsupported and invalid methods. */
const METHODS = ['PUT', 'TRACE', 'PROPFIND', 'LINK', 'QUERY', 'FOO', 'lower'];

function wrongMethod(method: string): Mutation {
  const codes: Mutation['codes'] = method === 'FOO' || method === 'lower' ? [40000] : [40500];
  return mutation('head', codes, `method ${method}`, (draft) => ({
    ...draft,
    method: method === 'lower' ? draft.method.toLowerCase() : method,
  }));
}

function wrongLastId(cursor: string): Mutation {
  return line([40007], `Last-Event-ID: ${cursor}`);
}

/** Neither an RFC 8941 string nor a token of 1 to 255 characters, or repeated. */
const WRONG_KEYS = [
  '',
  '""',
  '"',
  '"open',
  'a b',
  '"a" b',
  '"\\x"',
  '"caf\u00e9"',
  'caf\u00e9',
  'a,b',
  'x'.repeat(256),
  `"${'x'.repeat(256)}"`,
];

function wrongKey(): fc.Arbitrary<Mutation> {
  return fc.constantFrom(
    ...WRONG_KEYS.map((key) => line([40006], `Idempotency-Key: ${key}`)),
    mutation('head', [40006], 'two keys', (draft: Draft) => ({
      ...draft,
      fields: [...draft.fields, 'Idempotency-Key: one', 'Idempotency-Key: two'],
    })),
  );
}
