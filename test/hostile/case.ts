import type { Service } from '../../testkit/service/service.ts';
import { chunk, head } from '../../testkit/sockets/raw-request.ts';

/** Where the cases of a family are played: a user with a few plants on a running service. */
export type Ground = {
  port: number;
  user: string;
  token: string;
  /** Host and Authorization, as a well-formed request of the user carries them. */
  fields: readonly string[];
  /** What stands in braces in the texts of cases (`{reader}`), and what it stands for. */
  words: Readonly<Record<string, string>>;
};

/** Cases that are played on one ground. */
export type Family = {
  name: string;
  cases: readonly Case[];
  /** One after the other over one connection: they speak of the same plants. */
  inOrder?: true;
  /** Makes what its words stand for. */
  prepare?: (service: Service, ground: Ground) => Promise<Readonly<Record<string, string>>>;
};

/** One hostile input: what goes over the wire, and what the contract and the standards say comes back. */
export type Case = {
  name: string;
  /** A string is Latin-1. */
  bytes: (ground: Ground) => string | Buffer;
  /** In the order of the requests. */
  answers: readonly Expected[];
  /**
   * What becomes of the connection after the answers. A request that asks for something else follows in the same bytes:
   * `open` means that it is answered next, `closed` that it is never answered.
   */
  leaves: 'open' | 'closed' | 'either';
  /** How the bytes arrive: at once with the request that follows; one by one; or as all that the client ever sends. */
  arrives?: 'byte by byte' | 'then the client ends';
  /** What the client sends once it has the answers: nothing of it is answered, and nothing follows. */
  rest?: string;
};

export type Expected = {
  /** HTTP statuses, and codes of Error objects. Several only where the contract and the standards leave the choice. */
  is: readonly number[];
  /** The answer to a HEAD request: no body, and so no code. */
  head?: boolean;
  /** The plant that a 201 speaks of, where the case says which. An id is written in digits. */
  plant?: { id?: string; name?: string; tag?: string };
  /** The id of the plant that a 204 removes. */
  removes?: string;
  /** Header fields of the answer, and what they must match. */
  fields?: Readonly<Record<string, RegExp>>;
  /** What the body must match. */
  body?: RegExp;
  /** Whether a 100 may come before it: only if the request asks for one, and never where this says so. */
  continues?: 'never';
};

/** Plants that every ground has, beside 0. What is smuggled aims at `TARGET`; every list begins with `FIRST`. */
export const FIRST = '-9223372036854775808';
export const TARGET = '424242';

export const JSON_TYPE = 'Content-Type: application/json';
export const POST = 'POST /plants HTTP/1.1';
export const GET = 'GET /plants?limit=1 HTTP/1.1';

type Wire = Case['bytes'];

const filled = (text: string, { words }: Ground): string =>
  text.replace(/\{(\w+)\}/g, (all, word) => words[word] ?? all);

/** A request without a body: Host and Authorization stand before the fields. */
export const bare =
  (line: string, ...fields: readonly string[]): Wire =>
  (ground) =>
    filled(head(line, ...ground.fields, ...fields), ground);

/** The text as it is, with the words of the ground; `{fields}` stands for the lines of Host and Authorization. */
export const raw =
  (text: string): Wire =>
  (ground) =>
    filled(text, ground);

/** A request of exactly these lines. */
export const exact = (...lines: readonly string[]): Wire => raw(`${lines.join('\r\n')}\r\n\r\n`);

/** A body of these bytes, in UTF-8 when it is text, with its length and these fields. */
export const posted =
  (body: string | Buffer, fields: readonly string[] = [JSON_TYPE], line = POST): Wire =>
  (ground) => {
    const bytes = Buffer.from(body as string);
    const lines = [...ground.fields, ...fields, `Content-Length: ${bytes.length}`];
    const start = filled(head(line, ...lines), ground);
    return Buffer.concat([Buffer.from(start, 'latin1'), bytes]);
  };

/** A POST whose framing is what the case is about: these fields, and then these bytes. */
export const framed =
  (fields: readonly string[], rest: string, line = POST): Wire =>
  (ground) =>
    filled(head(line, ...ground.fields, JSON_TYPE, ...fields) + rest, ground);

/** A chunked POST of exactly these bytes. */
export const chunked = (rest: string, ...fields: readonly string[]): Wire =>
  framed(['Transfer-Encoding: chunked', ...fields], rest);

export const inChunks = (...data: readonly string[]): string => [...data, ''].map(chunk).join('');

/** A case of one request, by what it is answered: statuses below 1000, else codes of Error objects. */
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

/** A request that would remove the plant that every ground has, if it were taken for one. */
export const smuggled = (ground: Ground): string =>
  head(`DELETE /plants/${TARGET} HTTP/1.1`, ...ground.fields);
