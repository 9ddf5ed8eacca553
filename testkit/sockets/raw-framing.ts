import type { Answer } from '../service/answer.ts';

/** `fields` are the header fields as received; `version` is `1.1` for `HTTP/1.1`. */
export type RawAnswer = Answer & { version: string; fields: [string, string][] };

export type Framed = { answer: RawAnswer; length: number };

const HEAD_END = '\r\n\r\n';
const STATUS_LINE = /^HTTP\/(\d\.\d) (\d{3})(?: [\t\x20-\x7e]*)?$/;
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t ]*([\t\x20-\x7e]*?)[\t ]*$/;

/**
 * The first answer in the bytes; undefined while it is incomplete. Strict (RFC 9112): throws for a malformed answer.
 */
export function frame(bytes: Buffer, bodiless: boolean, closed: boolean): Framed | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const [, version = '', status = ''] = STATUS_LINE.exec(first) ?? malformed(first);
  const fields = lines.map((line): [string, string] => {
    const [, name = '', value = ''] = FIELD.exec(line) ?? malformed(line);
    return [name, value];
  });
  const head = { version, status: Number(status), fields, headers: new Headers(fields) };
  const start = headEnd + HEAD_END.length;
  const body =
    bodiless || hasNoBody(head.status) ? { text: '', end: start } : readBody(bytes, start, head, closed);
  if (body === undefined) return undefined;
  return { answer: { ...head, text: body.text }, length: body.end };
}

type Head = Pick<RawAnswer, 'fields' | 'headers'>;
type Body = { text: string; end: number };

function hasNoBody(status: number): boolean {
  return status < 200 || status === 204 || status === 304;
}

function readBody(bytes: Buffer, start: number, { headers }: Head, closed: boolean): Body | undefined {
  const length = headers.get('content-length');
  if (headers.get('transfer-encoding') === 'chunked') {
    if (length !== null) malformed('content-length beside transfer-encoding');
    return readChunks(bytes, start);
  }
  if (length === null) return closed ? { text: bytes.toString('utf8', start), end: bytes.length } : undefined;
  if (!/^\d+$/.test(length)) malformed(`content-length: ${length}`);
  const end = start + Number(length);
  return bytes.length < end ? undefined : { text: bytes.toString('utf8', start, end), end };
}

function readChunks(bytes: Buffer, start: number): Body | undefined {
  const chunks: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const line = bytes.toString('latin1', at, lineEnd);
    if (!/^[0-9a-fA-F]+$/.test(line)) malformed(`chunk size ${line}`);
    const size = Number.parseInt(line, 16);
    const end = lineEnd + 2 + size;
    if (bytes.length < end + 2) return undefined;
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') malformed('end of a chunk');
    if (size === 0) return { text: Buffer.concat(chunks).toString('utf8'), end: end + 2 };
    chunks.push(bytes.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}

function malformed(what: string): never {
  throw new Error(`The answer is malformed: ${JSON.stringify(what)}`);
}
