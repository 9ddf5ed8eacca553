import { delivery } from '../limits.ts';
import { TargetRefused } from './target.ts';

/** What became of one request. */
export type Attempt = {
  /** The HTTP status, when one came. */
  status?: number;
  /** The beginning of the answer's body as text. */
  excerpt?: string;
  /** Why there was no whole answer: a sentence for a person. Absent when there was one. */
  error?: string;
  durationMs: number;
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

const BROKEN_OFF = 'The connection was closed before the answer was complete.';
const NO_CONNECTION = 'The receiver did not accept the connection in time.';

const reasons: Readonly<Record<string, string>> = {
  EAI_AGAIN: 'The name of the receiver could not be looked up.',
  ECONNREFUSED: 'The receiver refused the connection.',
  ECONNRESET: BROKEN_OFF,
  EHOSTUNREACH: 'The receiver cannot be reached from here.',
  ENETUNREACH: 'The receiver cannot be reached from here.',
  ENOTFOUND: 'The name of the receiver does not resolve.',
  EPIPE: BROKEN_OFF,
  ETIMEDOUT: NO_CONNECTION,
  UND_ERR_CONNECT_TIMEOUT: NO_CONNECTION,
  UND_ERR_HEADERS_OVERFLOW: `The header of the answer is over ${delivery.answerHeaderBytes / 1024} KiB.`,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'The answer is not as long as it says.',
  UND_ERR_SOCKET: BROKEN_OFF,
};

/** A sentence for an error of the sender. Nothing of the error's own text, which may quote the answer. */
export function reasonOf(error: unknown): string {
  if (error instanceof TargetRefused) return error.message;
  const code = codeOf(error);
  const known = reasons[code];
  if (known !== undefined) return known;
  if (/^(?:HPE_|HTTPParserError$)/.test(code)) return `The answer is not valid HTTP (${code}).`;
  if (isTls(code)) return `The TLS connection failed (${code}).`;
  return `The request failed (${code}).`;
}

function isTls(code: string): boolean {
  return /^(?:ERR_SSL_|ERR_TLS_|EPROTO$|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/.test(code);
}

/** A connection that was tried at several addresses fails with one error for each: the first one counts. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
