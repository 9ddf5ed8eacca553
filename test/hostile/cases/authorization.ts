import { type Scope, scopes } from '../../../src/access/scopes.ts';
import { createToken } from '../../../src/access/tokens.ts';
import { bare, type Case, exact, expecting, type Family, GET, JSON_TYPE, POST } from '../case.ts';

/** Who the caller is: RFC 6750, RFC 9110 §11; contract, section 2. */

const listed = expecting(200, 'open', { body: /^\[\{"name":"Given"/ });
const noToken = expecting(40100, 'open');
const badToken = expecting(40005, 'open');
const unknownToken = expecting(40101, 'open');

/** Exactly these fields, after Host. */
const only = (...fields: string[]): Case['bytes'] => exact(GET, 'Host: localhost', ...fields);
const as = (value: string): Case['bytes'] => only(`Authorization: ${value}`);

const OTHER_SCHEMES = [
  'Basic YWRtaW46YWRtaW4=',
  'Basic',
  'Basic ',
  'Basic a,b',
  'Basic {token}',
  'Digest a="b", c="d"',
  'Digest username="a", realm="b", nonce="c", uri="/plants", response="d", qop=auth, nc=00000001',
  'AWS4-HMAC-SHA256 Credential=AKID/20261121/eu/s3/aws4_request, SignedHeaders=host;date, Signature=fe5f',
  'Negotiate YII=',
  'NTLM TlRMTVNTUAAB',
  'DPoP {token}',
  'HOBA result="a.b.c.d"',
  'Mutual x="y", sid=z',
  'OAuth realm="a", oauth_token="{token}"',
  'Token {token}',
  'ApiKey {token}',
  'PST {token}',
  'BearerToken {token}',
  'Bearers {token}',
  'XBearer {token}',
  'Bear {token}',
  'vapid t=a.b.c, k=d',
  'SCRAM-SHA-256 realm="a", data=b',
  'GNAP {token}',
  'x',
];

/** The scheme may be read as Bearer with a wrong token, or as an unknown one. */
const NEARLY_BEARER = [
  '',
  'Bearer\t{token}',
  'Bearer:{token}',
  'Bearer={token}',
  'Bearer,{token}',
  '"Bearer" {token}',
  'Bearer\xa0{token}',
  '{token}',
  ',Bearer {token}',
  'Basic x, Bearer {token}',
];

const BAD_TOKENS: [name: string, value: string][] = [
  ['no token', 'Bearer'],
  ['spaces for a token', 'Bearer   '],
  ['two tokens', 'Bearer {token} {token}'],
  ['two words', 'Bearer a b'],
  ['a comma', 'Bearer a,b'],
  ['a comma and a space', 'Bearer a, b'],
  ['a comma after the token', 'Bearer {token},'],
  ['a comma before the token', 'Bearer ,{token}'],
  ['a comma alone', 'Bearer ,'],
  ['the scheme twice, joined by a comma', 'Bearer {token}, Bearer {token}'],
  ['the scheme twice, joined without a space', 'Bearer {token},Bearer {token}'],
  ['another scheme after a comma', 'Bearer {token}, Basic x'],
  ['parameters', 'Bearer realm="a", token="b"'],
  ['a byte beyond ASCII', 'Bearer pst_\xe9'],
  ['a no-break space', 'Bearer {token}\xa0'],
  ['a tab in the middle', 'Bearer a\tb'],
  ['a token of 4,097 bytes', `Bearer ${'a'.repeat(4097)}`],
  ['a token of 16,000 bytes', `Bearer ${'a'.repeat(16_000)}`],
];

/** RFC 6750 §2.1 forbids these characters in a token, but BOOTSTRAP_TOKEN allows them: malformed, or unknown. */
const ODD_TOKENS: [name: string, value: string][] = [
  ['a parameter', 'Bearer a=b'],
  ['quotes', 'Bearer "{token}"'],
  ['single quotes', "Bearer '{token}'"],
  ['angle brackets', 'Bearer <{token}>'],
  ['a semicolon', 'Bearer {token};a'],
  ['a colon', 'Bearer a:b'],
  ['an exclamation mark', 'Bearer {token}!'],
  ['a percent sign', 'Bearer %70st'],
  ['a backslash', 'Bearer {token}\\'],
  ['an equals sign alone', 'Bearer ='],
  ['an at sign', 'Bearer a@b'],
  ['a JSON object', 'Bearer {"token":"a"}'],
];

const UNKNOWN_TOKENS: [name: string, value: string][] = [
  ['one letter', 'Bearer a'],
  ['all characters that a token may have', 'Bearer AZaz09-._~+/=='],
  ['a token of 4,096 bytes', `Bearer ${'a'.repeat(4096)}`],
  ['the form of a token, with a wrong sum', `Bearer pst_${'a'.repeat(38)}`],
  ['a token that is too short', `Bearer pst_${'a'.repeat(37)}`],
  ['another prefix', `Bearer psx_${'a'.repeat(38)}`],
  ['the token with its last letter lost', 'Bearer {cut}'],
  ['the token with a letter more', 'Bearer {token}a'],
  ['the token in the other case', 'Bearer {swapped}'],
  ['the token with padding', 'Bearer {token}='],
  ['the token twice, in one', 'Bearer {token}{token}'],
  ['a revoked token', 'Bearer {revoked}'],
  ['a JWT without a signature', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.'],
  ['a JWT with an unknown algorithm', 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.AAAA'],
  ['two points', 'Bearer ..'],
  ['null', 'Bearer null'],
  ['undefined', 'Bearer undefined'],
];

const GOOD_TOKENS = [
  'bearer {token}',
  'BEARER {token}',
  'bEaReR {token}',
  'Bearer  {token}',
  'Bearer      {token}',
  ' \t Bearer {token} \t ',
];

export const authorization: Family = {
  name: 'Authorization',
  cases: [
    noToken('no Authorization', only()),
    noToken('no Authorization for a create', exact(POST, 'Host: localhost', JSON_TYPE, 'Content-Length: 0')),
    ...OTHER_SCHEMES.map((value) => noToken(`another scheme: ${value.slice(0, 60)}`, as(value))),
    ...NEARLY_BEARER.map((value) => expecting([40005, 40100], 'open')(`nearly Bearer: ${value}`, as(value))),
    ...BAD_TOKENS.map(([name, value]) => badToken(`Bearer with ${name}`, as(value))),
    ...ODD_TOKENS.map(([name, value]) => expecting([40005, 40101], 'open')(`Bearer with ${name}`, as(value))),
    ...UNKNOWN_TOKENS.map(([name, value]) => unknownToken(`Bearer with ${name}`, as(value))),
    ...GOOD_TOKENS.map((value) => listed(`Authorization: ${value}`, as(value))),
    badToken(
      'Authorization twice, alike',
      only('Authorization: Bearer {token}', 'Authorization: Bearer {token}'),
    ),
    badToken(
      'Authorization twice, the second wrong',
      only('Authorization: Bearer {token}', 'authorization: Bearer x'),
    ),
    badToken(
      'Authorization twice, the first of another scheme',
      only('Authorization: Basic x', 'Authorization: Bearer {token}'),
    ),
    badToken('Authorization twice, the first empty', only('Authorization:', 'Authorization: Bearer {token}')),
    expecting(40102, 'open')('an expired token', as('Bearer {expired}')),
    expecting(40300, 'open')(
      'a token without the scope',
      exact('DELETE /plants/424242 HTTP/1.1', 'Host: localhost', 'Authorization: Bearer {reader}'),
    ),
    expecting(40300, 'open')(
      'a token of plants for webhooks',
      exact('GET /webhooks HTTP/1.1', 'Host: localhost', 'Authorization: Bearer {reader}'),
    ),
    expecting([40100, 40003], 'open')(
      'a token in the query',
      exact('GET /plants?access_token={token} HTTP/1.1', 'Host: localhost'),
    ),
    expecting(40003, 'open')(
      'a token in the query beside one in the field',
      bare('GET /plants?access_token=x HTTP/1.1'),
    ),
    noToken('a token in a cookie', only('Cookie: access_token={token}')),
    noToken('a token in Proxy-Authorization', only('Proxy-Authorization: Bearer {token}')),
  ],
  prepare: (service, { token, user }) =>
    service.beside(async ({ store, runtime }) => {
      const access = { store: store.access, runtime };
      const make = async (options: { scopes: readonly Scope[]; expiresInMs?: number }) => {
        const made = await createToken(access, { user, label: '', ...options });
        if (made === undefined) throw new Error(`There is no user ${user}.`);
        return made;
      };
      const revoked = await make({ scopes });
      await store.access.revokeToken(revoked.id, runtime.clock.now());
      const expired = await make({ scopes, expiresInMs: 1 });
      const reader = await make({ scopes: ['plants:read'] });
      return {
        revoked: revoked.token,
        expired: expired.token,
        reader: reader.token,
        cut: token.slice(0, -1),
        swapped: token.slice(0, -10) + swapCase(token.slice(-10)),
      };
    }),
};

function swapCase(text: string): string {
  return text.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}
