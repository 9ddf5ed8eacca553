import { delivery } from '../../limits.ts';
import { TargetRefused } from './target.ts';

/** What became of one request. */
export type Attempt = {
  /** When it began: milliseconds since the Unix epoch. */
  at: number;
  durationMs: number;
  /** The address that was connected to; when no connection came about, the first one that was tried. */
  address?: string;
  /** The HTTP status, when one came. */
  status?: number;
  /** The beginning of the `Retry-After` header as it came. */
  retryAfter?: string;
  /** The beginning of the answer's body as text; absent when it had none. */
  excerpt?: string;
  /** Why there was no whole answer: a sentence for a person. Absent when there was one. */
  error?: string;
};

/** Why an attempt counts as failed; undefined for one that delivered: a whole answer with a status 2xx. */
export function failureOf({ status, error }: Pick<Attempt, 'status' | 'error'>): string | undefined {
  if (error !== undefined) return status === undefined ? error : `${error} Its status was ${status}.`;
  if (status === undefined) return 'There was no answer.';
  if (status >= 200 && status < 300) return undefined;
  if (status >= 300 && status < 400) {
    return `The receiver answered ${status}; redirects are not followed.`;
  }
  return `The receiver answered ${status}.`;
}

/** Errors that the sender finds by itself. */
export const STOPPED = 'The service stopped.';
export const NOT_SIGNED = 'The request could not be signed: a key of the webhook cannot be read.';
export const NOT_OPENED = 'The receiver closed the connection while it was being opened.';
export const HEADER_TOO_LONG = `The header of the answer is over ${delivery.answerHeaderBytes / 1024} KiB.`;
export const SWITCHED = 'The receiver answered 101, which switches to another protocol.';

const BROKEN_OFF = 'The connection was closed before the answer was complete.';
const NO_CONNECTION = 'The receiver did not accept the connection in time.';
const UNREACHABLE = 'The receiver cannot be reached from here.';
const NO_LOOKUP = 'The name of the receiver could not be looked up.';
const NO_SUCH_NAME = 'The name of the receiver does not resolve.';

const reasons: Readonly<Record<string, string>> = {
  EAI_AGAIN: NO_LOOKUP,
  EAI_FAIL: NO_LOOKUP,
  ECANCELLED: NO_LOOKUP,
  EREFUSED: NO_LOOKUP,
  ESERVFAIL: NO_LOOKUP,
  ETIMEOUT: 'The name servers did not answer in time.',
  EBADNAME: NO_SUCH_NAME,
  ENODATA: NO_SUCH_NAME,
  ENOTFOUND: NO_SUCH_NAME,
  ECONNREFUSED: 'The receiver refused the connection.',
  ECONNRESET: BROKEN_OFF,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EPIPE: BROKEN_OFF,
  ETIMEDOUT: NO_CONNECTION,
  UND_ERR_HEADERS_OVERFLOW: HEADER_TOO_LONG,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'The answer is not valid HTTP, or not as long as it says.',
  UND_ERR_SOCKET: BROKEN_OFF,
};

/** What the HTTP client says of an answer that it will not read on, though the connection is still there. */
const refusedAnswers: Readonly<Record<string, string>> = {
  'bad response': 'The receiver answered 100 (Continue), which nobody asked for.',
  'bad upgrade': SWITCHED,
};

/** A sentence for an error of the sender. Nothing of the error's own text that may quote the answer. */
export function reasonOf(error: unknown): string {
  if (error instanceof TargetRefused) return error.message;
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : '';
  if (code === 'UND_ERR_SOCKET' && message in refusedAnswers) return refusedAnswers[message] ?? BROKEN_OFF;
  const known = reasons[code];
  if (known !== undefined) return known;
  if (code === 'HTTPParserError') {
    // The parser's own words; it has a fixed set of them.
    const [, rule = code] = /\((.+)\)$/.exec(message) ?? [];
    return `The answer is not valid HTTP (${rule}).`;
  }
  if (isTls(code)) return `The TLS connection failed (${code}).`;
  return `The request failed (${code}).`;
}

function isTls(code: string): boolean {
  return /^(?:ERR_SSL_|ERR_TLS_|EPROTO$|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/.test(code);
}

/** A connection that was tried at several addresses fails with one error for each: the first one counts. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
