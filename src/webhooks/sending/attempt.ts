import { delivery, sending } from '../../limits.ts';
import { TargetRefused } from './target.ts';

/** The result of one request. */
export type Attempt = {
  /** When it began: milliseconds since the Unix epoch. */
  at: number;
  durationMs: number;
  /** The address connected to; without a connection, the first one tried. */
  address?: string | undefined;
  /** The HTTP status, if one arrived. */
  status?: number | undefined;
  /** The beginning of the `Retry-After` header, unchanged. */
  retryAfter?: string;
  /** The beginning of the response body as text; absent without a body. */
  excerpt?: string | undefined;
  /** Why there was no complete response: a sentence for a person. Absent if it was complete. */
  error?: string | undefined;
};

/** Why an attempt counts as failed; undefined for a success: a complete response with a 2xx status. */
export function failureOf({ status, error }: Pick<Attempt, 'status' | 'error'>): string | undefined {
  if (error !== undefined) return status === undefined ? error : `${error} Its status was ${status}.`;
  if (status === undefined) return 'There was no response.';
  if (status >= 200 && status < 300) return undefined;
  if (status >= 300 && status < 400) {
    return `The receiver answered ${status}; redirects are not followed.`;
  }
  return `The receiver answered ${status}.`;
}

/** Errors that the sender detects itself. */
export const STOPPED = 'The service stopped.';
export const NOT_SIGNED = 'The request could not be signed: a key of the webhook cannot be read.';
export const NOT_OPENED = 'The receiver closed the connection while it was being opened.';
export const HEADER_TOO_LONG = `The header of the response is over ${delivery.answerHeaderBytes / 1024} KiB.`;
export const TOO_MUCH = `The receiver sent over ${sending.surplusBytes / 1024} KiB besides its response.`;
export const SWITCHED = 'The receiver answered 101 (Switching Protocols).';

const BROKEN_OFF = 'The connection was closed before the response was complete.';
const NO_CONNECTION = 'The receiver did not accept the connection in time.';
const UNREACHABLE = 'The receiver cannot be reached.';
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
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'The response is not valid HTTP, or its length is wrong.',
  UND_ERR_SOCKET: BROKEN_OFF,
};

/** Errors of the HTTP client for a response that it stops reading while the connection is still open. */
const refusedAnswers: Readonly<Record<string, string>> = {
  'bad response': 'The receiver answered 100 (Continue) without being asked.',
  'bad upgrade': SWITCHED,
};

/** A sentence for an error of the sender. Contains nothing of the error's text that may quote the response. */
export function reasonOf(error: unknown): string {
  if (error instanceof TargetRefused) return error.message;
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : '';
  if (code === 'UND_ERR_SOCKET' && message in refusedAnswers) return refusedAnswers[message] ?? BROKEN_OFF;
  const known = reasons[code];
  if (known !== undefined) return known;
  if (code === 'HTTPParserError') {
    // The parser's own text, from a fixed set.
    const [, rule = code] = /\((.+)\)$/.exec(message) ?? [];
    return `The response is not valid HTTP (${rule}).`;
  }
  if (isTls(code)) return `The TLS connection failed (${code}).`;
  return `The request failed (${code}).`;
}

function isTls(code: string): boolean {
  return /^(?:ERR_SSL_|ERR_TLS_|EPROTO$|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/.test(code);
}

/**
 * Whether this machine or process has run out of file handles or memory, which says nothing about the receiver. Free
 * ports are not among these: Linux reports the same error for an address of a family that the machine lacks.
 */
export function isShortage(error: unknown): boolean {
  return SHORTAGES.has(codeOf(error));
}

const SHORTAGES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** A connection tried at several addresses fails with one error for each: the first one counts. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
