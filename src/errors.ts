import { http } from './limits.ts';

/**
 * The catalogue of failures: the only place that defines codes and their meanings. A code is HTTP status × 100 + a
 * number and never changes its meaning. The OpenAPI document and `docs/reference/errors.md` are generated from this
 * file.
 */
export const catalogue = {
  40000: 'The request line, a header or an escape cannot be read.',
  40001: 'The body is not JSON; duplicate members, invalid UTF-8 and nesting over 32 count as such.',
  40002: 'A member of the body is missing, unknown or invalid; the message names the member and its rule.',
  40003: 'A query parameter is unknown, repeated or out of its range.',
  40004: 'The id in the path is not a 64-bit integer in its canonical decimal form.',
  40005: 'The Authorization header cannot be read.',
  40006: 'The Idempotency-Key cannot be read.',
  40007: 'The cursor was not given to this user, or what follows it is no longer kept.',
  40100: 'The request carries no bearer token.',
  40101: 'The token is unknown, revoked or unacceptable.',
  40102: 'The token has expired.',
  40300: 'The token lacks the scope that the operation needs, or would pass on more than it has.',
  40400: 'There is no such path.',
  40401: 'The user has no such plant.',
  40402: 'The user has no such webhook.',
  40403: 'The webhook has no such delivery.',
  40404: 'The user has no such token.',
  40500: 'The path has no such method; Allow says which it has.',
  40800: 'The request did not arrive in time.',
  40900: 'The user already has a plant with this id.',
  40901: 'The first request with this Idempotency-Key is still running.',
  40902: 'A limit is reached, or the token cannot be rotated; the message says which.',
  41300: 'The body is too large.',
  41400: 'The URL is too long.',
  41500: 'The body is not application/json in UTF-8.',
  41501: 'The content-coding of the body is not supported.',
  41700: 'The expectation is not supported.',
  42200: 'The Idempotency-Key was used for another request.',
  42201: 'The webhook URL is refused; the message names the rule.',
  42900: 'Too many requests.',
  42901: 'Too many failed authentications from this address.',
  43100: 'The header fields are too large.',
  50000: 'A fault of the service; the message gives the request id to quote.',
  50100: 'The transfer-coding is not supported.',
  50300: 'The service is overloaded; nothing was done.',
  50301: 'The outcome is unknown; retry with the same key or id.',
  50302: 'The store is unavailable; nothing was done.',
  50303: 'The service is shutting down; nothing was done.',
  50304: 'The identity provider cannot be reached, so the token cannot be checked; nothing was done.',
  50500: 'The HTTP version is not supported.',
} as const;

export type ErrorCode = keyof typeof catalogue;

type AppErrorOptions = {
  /** Response headers that belong to the failure, such as `WWW-Authenticate` or `Allow`. */
  headers?: Readonly<Record<string, string>>;
  cause?: unknown;
};

/** An expected failure: a code from the catalogue and one sentence for a person. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string = catalogue[code], options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.headers = options.headers ?? {};
  }

  /** The HTTP status of the code. */
  get status(): number {
    return statusOf(this.code);
  }
}

/** A temporary failure. `Retry-After` says in how many seconds to try again. */
export function retryLater(
  code: ErrorCode,
  message: string,
  { seconds = http.retryAfterSeconds, cause }: { seconds?: number; cause?: unknown } = {},
): AppError {
  return new AppError(code, message, { headers: { 'retry-after': String(seconds) }, cause });
}

/** How each challenge begins (RFC 6750 §3). */
export const CHALLENGE = 'Bearer realm="plant-store"';

/** RFC 6750 §3.1, `insufficient_scope`. `scope`: those that are missing, separated by spaces. */
export function insufficientScope(scope: string, message: string): AppError {
  const challenge = `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`;
  return new AppError(40300, message, { headers: { 'www-authenticate': challenge } });
}

export function expiredToken(): AppError {
  return new AppError(40102, 'The token has expired; use a new one.');
}

export function statusOf(code: ErrorCode): number {
  return Math.floor(code / 100);
}

/** The schema `Error` of the OpenAPI document, as JSON text. */
export function errorBody(code: ErrorCode, message: string): string {
  return JSON.stringify({ error: code, message });
}

/** The response to a failure, for who sends it without the framework. */
export function errorAnswer({ code, message, status, headers }: AppError) {
  const body = errorBody(code, message);
  const fields = {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return { code, status, fields, body };
}
