import type { Service } from '../../testkit/service/service.ts';
import { chunk, head } from '../../testkit/sockets/raw-request.ts';

/** Where a family's cases run: a user with a few plants on a running service. */
export type Ground = {
  port: number;
  user: string;
  token: string;
  /** Host and Authorization, as in a well-formed request of the user. */
  fields: readonly string[];
  /** Placeholders in the texts of cases (`{reader}`), and their values. */
  words: Readonly<Record<string, string>>;
};

/** Cases that run on one ground. */
export type Family = {
  name: string;
  cases: readonly Case[];
  /** Run in order over one connection, because they use the same plants. */
  inOrder?: true;
  /** Creates what the placeholders stand for. */
  prepare?: (service: Service, ground: Ground) => Promise<Readonly<Record<string, string>>>;
};

/** One hostile input: the bytes to send, and the answer that the contract and the standards require. */
export type Case = {
  name: string;
  /** A string is sent as Latin-1. */
  bytes: (ground: Ground) => string | Buffer;
  /** In the order of the requests. */
  answers: readonly Expected[];
  /**
   * The connection's state after the answers. A different request follows in the same bytes: `open` means that it is
   * answered next, `closed` that it is never answered.
   */
  leaves: 'open' | 'closed' | 'either';
  /** How the bytes arrive: at once with the next request, one by one, or as everything the client ever sends. */
  arrives?: 'byte by byte' | 'then the client ends';
  /** What the client sends after the answers: it gets no answer, and nothing follows. */
  rest?: string;
};

export type Expected = {
  /** HTTP statuses, and codes of Error objects. Several only where the contract and the standards allow a choice. */
  is: readonly number[];
  /** The answer to a HEAD request: no body, and so no code. */
  head?: boolean;
  /** The plant that a 201 created, where the case determines it. Ids are written in digits. */
  plant?: { id?: string; name?: string; tag?: string };
  /** The id of the plant that a 204 deleted. */
  removes?: string;
  /** Patterns for header fields of the answer. */
  fields?: Readonly<Record<string, RegExp>>;
  /** A pattern for the body. */
  body?: RegExp;
  /** Whether a 100 may precede it: only if the request expects one, and never if this is false. */
  continues?: 'never';
};

/** Plants on every ground, besides 0. Smuggled requests aim at `TARGET`; every list begins with `FIRST`. */
export const FIRST = '-9223372036854775808';
export const TARGET = '424242';

export const JSON_TYPE = 'Content-Type: application/json';
export const POST = 'POST /plants HTTP/1.1';
export const GET = 'GET /plants?limit=1 HTTP/1.1';

type Wire = Case['bytes'];

const filled = (text: string, { words }: Ground): string =>
  text.replace(/\{(\w+)\}/g, (all, word) => words[word] ?? all);

/** A request without a body: Host and Authorization precede the fields. */
export const bare =
  (line: string, ...fields: readonly string[]): Wire =>
  (ground) =>
    filled(head(line, ...ground.fields, ...fields), ground);

/** Text with the ground's placeholders; `{fields}` is replaced by Host and Authorization. */
export const raw =
  (text: string): Wire =>
  (ground) =>
    filled(text, ground);

/** A request of exactly these lines. */
export const exact = (...lines: readonly string[]): Wire => raw(`${lines.join('\r\n')}\r\n\r\n`);

/** A body of these bytes (text as UTF-8), with its length and these fields. */
export const posted =
  (body: string | Buffer, fields: readonly string[] = [JSON_TYPE], line = POST): Wire =>
  (ground) => {
    const bytes = Buffer.from(body as string);
    const lines = [...ground.fields, ...fields, `Content-Length: ${bytes.length}`];
    const start = filled(head(line, ...lines), ground);
    return Buffer.concat([Buffer.from(start, 'latin1'), bytes]);
  };

/** A POST to test its framing: these fields, then these bytes. */
export const framed =
  (fields: readonly string[], rest: string, line = POST): Wire =>
  (ground) =>
    filled(head(line, ...ground.fields, JSON_TYPE, ...fields) + rest, ground);

/** A chunked POST of exactly these bytes. */
export const chunked = (rest: string, ...fields: readonly string[]): Wire =>
  framed(['Transfer-Encoding: chunked', ...fields], rest);

export const inChunks = (...data: readonly string[]): string => [...data, ''].map(chunk).join('');

/** A case of one request, by its answer: statuses below 1000, otherwise codes of Error objects. */
export function expecting(
  is: number | readonly number[],
  leaves: Case['leaves'],
  more: Partial<Expected> = {},
) {
  return (name: string, bytes: Wire, arrives?: Case['arrives']): Case => ({
    name,
    bytes,
    answers: [{ is: [is].flat(), ...more }],
    leaves,
    ...(arrives && { arrives }),
  });
}

/** The parser cannot read it: 40000, and nothing after it counts (RFC 9112 §9.6). */
export const unreadable = expecting(40000, 'closed');

/** A request that would delete the target plant if it ran. */
export const smuggled = (ground: Ground): string =>
  head(`DELETE /plants/${TARGET} HTTP/1.1`, ...ground.fields);
