import type { Api } from './api-options.ts';
import { Failure } from './failure.ts';
import { type JsonValue, readJson } from './json.ts';

/** A request to the service that did not succeed. */
export class ApiFailure extends Failure {
  /** Of the answer; undefined when there was none. */
  readonly status: number | undefined;
  /** Of the Error object; undefined when the answer held none. */
  readonly code: number | undefined;
  /** How long the service wants to be left alone. */
  readonly retryAfterMs: number | undefined;
  /** When nothing was answered, what may be there later: somebody to send it to, or an answer that is whole. */
  readonly lacks: 'service' | 'answer' | undefined;

  constructor(message: string, parts: ApiFailureParts = {}) {
    super(message, { cause: parts.cause });
    this.name = 'ApiFailure';
    this.status = parts.status;
    this.code = parts.code;
    this.retryAfterMs = parts.retryAfterMs;
    this.lacks = parts.lacks;
  }
}

type ApiFailureParts = {
  status?: number;
  code?: number;
  retryAfterMs?: number | undefined;
  lacks?: 'service' | 'answer';
  cause?: unknown;
};

/** An answer that says that the request failed: what the service says, its code, and what helps. */
export function refused(api: Api, { status, headers }: Response, text: Buffer): ApiFailure {
  const { error: code, message } = errorObject(readJson(text));
  if (code !== undefined && message !== undefined) {
    return new ApiFailure(`${message} (error ${code})${status === 401 ? otherToken(api) : ''}`, {
      status,
      code,
      retryAfterMs: retryAfterOf(headers),
    });
  }
  const location = status >= 300 && status < 400 ? headers.get('location') : null;
  if (location !== null) {
    return new ApiFailure(
      `${api.url} leads on to ${location}. Give the URL of the service itself with --url.`,
      { status },
    );
  }
  return notOfPlantStore(api, status);
}

function otherToken({ tokenFrom }: Api): string {
  const from = tokenFrom === undefined ? '' : ` The token is from ${tokenFrom.replace(/^The/, 'the')}.`;
  return `${from} To make another: plant-store token create --user NAME; to save it: plant-store login`;
}

/** What a proxy answers that has no answer of the service. */
const PROXY: ReadonlySet<number> = new Set([502, 503, 504]);

/** An answer that no plant store gives. */
export function notOfPlantStore({ url }: Api, status: number): ApiFailure {
  if (PROXY.has(status)) {
    return new ApiFailure(
      `${url} answers ${status}: a proxy there does not reach the service at the moment.`,
      { status },
    );
  }
  return new ApiFailure(
    `What answers at ${url} (with status ${status}) does not seem to be a plant store. Name another place with --url.`,
    { status },
  );
}

/** The service gives seconds; a date (RFC 9110 §10.2.3), which a proxy may give, is not worth reading. */
function retryAfterOf(headers: Headers): number | undefined {
  const seconds = headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}

function errorObject(value: JsonValue | undefined): { error?: number; message?: string } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  const { error, message } = value;
  return typeof error === 'bigint' && typeof message === 'string' ? { error: Number(error), message } : {};
}

const noConnection: Readonly<Record<string, (api: Api) => string>> = {
  ECONNREFUSED: ({ url }) =>
    `Nothing answers at ${url}. Is the service running (plant-store serve)? Another place is named with --url.`,
  ENOTFOUND: ({ url }) => `The host of ${url} cannot be found. Another place is named with --url.`,
  EAI_AGAIN: ({ url }) => `The host of ${url} cannot be looked up at the moment.`,
};

/** Unlike what is wrong with a certificate, say. */
const TEMPORARY =
  /^(?:E(?:TIMEDOUT|HOSTUNREACH|NETUNREACH|NETDOWN|CONNABORTED)|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/;
const BROKEN_OFF = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/;

/** Why there was no whole answer. `error` is what `fetch` failed with. */
export function unanswered(api: Api, method: string, error: unknown): ApiFailure {
  const code = codeOf(error);
  const known = noConnection[code]?.(api);
  if (known !== undefined) return new ApiFailure(known, { lacks: 'service', cause: error });
  const reason = BROKEN_OFF.test(code) ? 'the connection broke off' : code;
  const mayPass = BROKEN_OFF.test(code) || TEMPORARY.test(code);
  return new ApiFailure(`There is no whole answer from ${api.url}: ${reason}.${doubt(method)}`, {
    ...(mayPass && { lacks: 'answer' }),
    cause: error,
  });
}

/** The deadline is over. */
export function late(api: Api, method: string, ms: number): ApiFailure {
  return new ApiFailure(`There is no whole answer from ${api.url} within ${ms / 1000} s.${doubt(method)}`, {
    lacks: 'answer',
  });
}

function doubt(method: string): string {
  return method === 'GET' ? '' : ' It is unknown whether it was done.';
}

/** `fetch` hides the reason in the cause; what the system says is a code. */
function codeOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  const inner = cause instanceof Error ? cause : error;
  if (!(inner instanceof Error)) return String(inner);
  return 'code' in inner && typeof inner.code === 'string' ? inner.code : inner.message;
}
