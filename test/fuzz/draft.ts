/** A request that can be broken anywhere before it is sent. */
export type Draft = {
  method: string;
  /** Percent-encoded. */
  path: string;
  /** Without the question mark. */
  query: string;
  version: string;
  host: readonly string[];
  authorization: readonly string[];
  contentType: string | undefined;
  /** `bytes` replace the members when the body is broken as text. */
  body: { members: readonly Member[]; space: string } | { bytes: Buffer } | undefined;
  /** `none`: only what `fields` contain. */
  framing: 'length' | 'chunked' | 'none';
  /** Further header lines, unchanged. */
  fields: readonly string[];
};

/** A member of a JSON object: its value and its text. */
export type Member = { name: string; text: string; value: unknown };

export function draftOf(method: string, path: string, token: string): Draft {
  return {
    method,
    path,
    query: '',
    version: '1.1',
    host: ['localhost'],
    authorization: [`Bearer ${token}`],
    contentType: undefined,
    body: undefined,
    framing: 'length',
    fields: [],
  };
}

export function withJson(draft: Draft, value: unknown): Draft {
  return withBytes(draft, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
}

export function withBytes(draft: Draft, bytes: Buffer): Draft {
  return { ...draft, contentType: draft.contentType ?? 'application/json', body: { bytes } };
}

export function bodyOf({ body }: Draft): Buffer | undefined {
  if (body === undefined || 'bytes' in body) return body?.bytes;
  const { members, space } = body;
  const texts = members.map(({ name, text }) => `${JSON.stringify(name)}${space}:${space}${text}`);
  return Buffer.from(`${space}{${space}${texts.join(`${space},${space}`)}${space}}${space}`);
}

/** The bytes to send. */
export function bytesOf(draft: Draft): Buffer {
  const body = bodyOf(draft);
  const lines = [
    `${draft.method} ${targetOf(draft)} HTTP/${draft.version}`,
    ...draft.host.map((host) => `Host: ${host}`),
    ...headersOf(draft).map(([name, value]) => `${name}: ${value}`),
    ...draft.fields,
    ...framingOf(draft, body),
  ];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  if (body === undefined) return head;
  return draft.framing === 'chunked' ? Buffer.concat([head, chunked(body)]) : Buffer.concat([head, body]);
}

/** The request as a curl command, to examine a failure by hand. */
export function curlOf(draft: Draft, url: string): string {
  const body = bodyOf(draft);
  const { host, version, framing } = draft;
  const unusual = host.length === 1 && host[0] === 'localhost' ? [] : [`Host × ${host.length}`];
  if (version !== '1.1') unusual.push(`HTTP/${version}`);
  if (framing === 'none' && body !== undefined) unusual.push('no Content-Length of its own');
  return [
    'curl -i --path-as-is',
    `-X ${draft.method}`,
    quoted(Buffer.from(url + targetOf(draft), 'latin1')),
    ...headersOf(draft).map(([name, value]) => `-H ${quoted(Buffer.from(`${name}: ${value}`, 'latin1'))}`),
    ...draft.fields.map((line) => `-H ${quoted(Buffer.from(line, 'latin1'))}`),
    ...(framing === 'chunked' ? ["-H 'Transfer-Encoding: chunked'"] : []),
    ...(body === undefined ? [] : [`--data-binary ${quoted(body)}`]),
    ...(unusual.length > 0 ? [`# ${unusual.join(', ')}`] : []),
  ].join(' ');
}

function targetOf({ path, query }: Draft): string {
  return query === '' ? path : `${path}?${query}`;
}

function headersOf({ authorization, contentType }: Draft): [string, string][] {
  const headers = authorization.map((value): [string, string] => ['Authorization', value]);
  return contentType === undefined ? headers : [...headers, ['Content-Type', contentType]];
}

function framingOf({ framing, method }: Draft, body: Buffer | undefined): string[] {
  if (framing === 'none') return [];
  if (body === undefined) return method === 'POST' || method === 'PATCH' ? ['Content-Length: 0'] : [];
  return [framing === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`];
}

/** In two chunks, so that no chunk is the whole body. */
function chunked(body: Buffer): Buffer {
  const half = Math.ceil(body.length / 2);
  const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0);
  const chunks = parts.flatMap((part) => [
    Buffer.from(`${part.length.toString(16)}\r\n`),
    part,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
}

const SHOWN_BYTES = 2_000;

/** Shell quoting: unquoted if possible, otherwise bash's `$'…'`. */
function quoted(bytes: Buffer): string {
  const shown = bytes.subarray(0, SHOWN_BYTES);
  const more = bytes.length > SHOWN_BYTES ? `… (${bytes.length} bytes)` : '';
  if (shown.every((byte) => byte >= 0x20 && byte < 0x7f && byte !== 0x27)) return `'${shown}${more}'`;
  const escaped = [...shown].map((byte) => {
    if (byte === 0x27 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
    const isPlain = byte >= 0x20 && byte < 0x7f;
    return isPlain ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
  });
  return `$'${escaped.join('')}${more}'`;
}
