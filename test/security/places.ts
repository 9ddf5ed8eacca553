import { head } from '../../testkit/sockets/raw-request.ts';
import { fill, type Operation } from './operations.ts';

/** A request as bytes, with the name of the place where it contains a text. */
export type Placed = { place: string; bytes: string };

/**
 * Requests for an operation, each with the text in another place. Those that do not carry it as their token are
 * authorized, to get as far as possible; the service refuses each, or it changes nothing.
 */
export function placesOf(operation: Operation, text: string, authorization: string): Placed[] {
  const path = fill(operation.path, (name) =>
    name === 'event' ? 'evt_none' : operation.path.startsWith('/tokens') ? 'tok_none' : 'wh_none',
  );
  const make = maker(operation, authorization);
  return [
    ...asToken(text).map(({ place, fields }) => make(place, path, { fields, isAuthorized: false })),
    ...asField(text).map(({ place, fields }) => make(place, path, { fields })),
    ...inTarget(path, text).map(({ place, target }) => make(place, target)),
    ...(operation.method === 'POST' || operation.method === 'PATCH' ? inBody(text) : []).map(
      ({ place, body }) => make(place, path, { body }),
    ),
  ];
}

/** Requests that the parser or the router refuses, so that they reach no operation. */
export function unreadable(text: string, authorization: string): Placed[] {
  const fields = ['Host: x', `Authorization: ${authorization}`];
  const long = text.repeat(Math.ceil(40_000 / text.length));
  const lines = {
    'the method': `${text} / HTTP/1.1`,
    'the whole line': text,
    'a target without a slash': `GET ${text} HTTP/1.1`,
    'the version': `GET /plants ${text}`,
    'a path, in another version': `GET /${text} HTTP/2.0`,
    'a path that is not there': `GET /${text} HTTP/1.1`,
    'a path behind a file': `GET /docs/api/${text} HTTP/1.1`,
    'an absolute target': `GET http://${text}@x/${text} HTTP/1.1`,
    'a target with an escape that cannot be read': `GET /plants/${text}%zz HTTP/1.1`,
    'a target that is too long': `GET /plants?${long.slice(0, 9_000)} HTTP/1.1`,
    'a line that does not end': `GET /plants?${long} HTTP/1.1`,
    CONNECT: `CONNECT ${text}:443 HTTP/1.1`,
    OPTIONS: `OPTIONS /plants/${text} HTTP/1.1`,
    PUT: `PUT /plants/${text} HTTP/1.1`,
  };
  return [
    ...Object.entries(lines).map(([place, line]) => ({ place, bytes: head(line, ...fields) })),
    { place: 'a line without a field name', bytes: head('GET /plants HTTP/1.1', ...fields, `: ${text}`) },
    { place: 'a line folded', bytes: head('GET /plants HTTP/1.1', ...fields, 'x: y', ` ${text}`) },
    { place: 'a control character', bytes: head('GET /plants HTTP/1.1', ...fields, `x: ${text}\u0001`) },
    { place: 'no Host', bytes: head('GET /plants HTTP/1.1', `Authorization: Bearer ${text}`) },
    {
      place: 'a chunk size',
      bytes: `${head('POST /plants HTTP/1.1', ...fields, 'Content-Type: application/json', 'Transfer-Encoding: chunked')}${text}\r\n`,
    },
  ];
}

type MakeOptions = { fields?: string[]; body?: string; isAuthorized?: boolean };

function maker({ method, operationId }: Operation, authorization: string) {
  return (
    place: string,
    target: string,
    { fields = [], body = '{}', isAuthorized = true }: MakeOptions = {},
  ) => {
    const names = fields.map((field) => field.split(':', 1)[0]?.toLowerCase());
    const usual = ['Host: x'];
    // An invalid cursor, since an open stream has no end.
    if (operationId === 'streamEvents') usual.push('Last-Event-ID: none');
    if (isAuthorized) usual.push(`Authorization: ${authorization}`);
    if (method === 'POST' || method === 'PATCH') {
      usual.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
    }
    // A given field replaces the usual one.
    const kept = usual.filter((field) => !names.includes(field.split(':', 1)[0]?.toLowerCase()));
    const bytes = head(`${method} ${target} HTTP/1.1`, ...kept, ...fields);
    return { place, bytes: method === 'POST' || method === 'PATCH' ? bytes + body : bytes };
  };
}

function asToken(text: string): { place: string; fields: string[] }[] {
  const wrong = {
    'no scheme': text,
    'another scheme': `Basic ${text}`,
    'a scheme that is misspelt': `Bearer: ${text}`,
    'two tokens': `Bearer ${text} ${text}`,
    'a list': `Bearer ${text}, Bearer ${text}`,
    'a quoted token': `bearer "${text}"`,
    'a token that is not ASCII': `Bearer ${text}\u00e9`,
    'a token that is too long': `Bearer ${text.repeat(Math.ceil(5_000 / text.length))}`,
    'a token that is cut': `Bearer ${text.slice(0, -1)}`,
    'a token with more behind it': `Bearer ${text}0`,
  };
  return [
    ...Object.entries(wrong).map(([place, value]) => ({ place, fields: [`Authorization: ${value}`] })),
    {
      place: 'the header twice',
      fields: [`Authorization: Bearer ${text}`, `Authorization: Bearer ${text}`],
    },
    { place: 'other headers', fields: [`Cookie: token=${text}`, `Proxy-Authorization: Bearer ${text}`] },
  ];
}

function asField(text: string): { place: string; fields: string[] }[] {
  const values = {
    'Last-Event-ID': text,
    'User-Agent': text,
    Referer: `https://x/?access_token=${text}`,
    'X-Request-Id': text,
    'X-Forwarded-For': text,
    Forwarded: `for=${text}`,
    Traceparent: text,
    Expect: text,
    'Content-Type': text,
    'Content-Encoding': text,
    'Transfer-Encoding': text,
    'Content-Length': text,
    Host: text,
    // A repeated name: the parser refuses the one above, the service this one.
    'transfer-encoding': `${text}, chunked`,
    // It contains forbidden white space, so that no answer is stored.
    'Idempotency-Key': `${text} ${text}`,
  };
  return [
    ...Object.entries(values).map(([name, value]) => ({ place: name, fields: [`${name}: ${value}`] })),
    { place: 'the name of a header', fields: [`${text.replace(/[^\w-]/g, '-')}: x`] },
    {
      place: 'headers that are too large',
      fields: [`X-Large: ${text.repeat(Math.ceil(40_000 / text.length))}`],
    },
  ];
}

function inTarget(path: string, text: string): { place: string; target: string }[] {
  const encoded = encodeURIComponent(text);
  const names = ['access_token', 'cursor', 'limit', 'fields', 'state'];
  return [
    ...names.map((name) => ({ place: `the query, as ${name}`, target: `${path}?${name}=${encoded}` })),
    { place: 'the query, twice', target: `${path}?cursor=${encoded}&cursor=${encoded}` },
    { place: 'the query, with an escape that cannot be read', target: `${path}?cursor=${encoded}%zz` },
    { place: 'a segment more', target: `${path}/${encoded}` },
    { place: 'the last segment', target: path.replace(/[^/]+$/, encoded) },
    { place: 'an id', target: path.replace(/wh_none|tok_none/, encoded) },
    { place: 'an event', target: path.replace('evt_none', encoded) },
  ].filter(({ target }) => target !== path);
}

/** Bodies that no operation accepts. */
function inBody(text: string): { place: string; body: string }[] {
  const quoted = JSON.stringify(text);
  const typed = ['id', 'url', 'rate', 'enabled', 'overlap', 'since', 'state', 'scopes', 'expiresIn'];
  const members = [...typed, 'name', 'tag', 'description', 'label'];
  return [
    { place: 'a body that is not JSON', body: text },
    { place: 'a body that ends early', body: `{"name":"${text}` },
    { place: 'a body that is a string', body: quoted },
    { place: 'a list', body: `[${quoted}]` },
    { place: 'a control character in a string', body: `{"name":"${text}\n"}` },
    { place: 'an escape that cannot be read', body: `{"name":"${text}\\x"}` },
    { place: 'a number that cannot be read', body: `{"id":1${text}}` },
    { place: 'a member twice', body: `{"name":${quoted},"name":${quoted}}` },
    { place: 'a member that is unknown', body: `{"password":${quoted}}` },
    { place: 'a user name in a URL', body: `{"url":"https://${text}@example.com/"}` },
    { place: 'a password in a URL', body: `{"url":"https://user:${text}@example.com/"}` },
    { place: 'a URL that may not be reached', body: `{"url":"http://169.254.169.254/${text}"}` },
    { place: 'a body that is too large', body: `{"name":"${text.repeat(Math.ceil(70_000 / text.length))}"}` },
    ...typed.map((name) => ({ place: `the member ${name}`, body: `{"${name}":${quoted}}` })),
    ...members.map((name) => ({ place: `the member ${name}, deeper`, body: `{"${name}":{"a":${quoted}}}` })),
    ...members.map((name) => ({ place: `the member ${name}, in a list`, body: `{"${name}":[${quoted}]}` })),
  ];
}
