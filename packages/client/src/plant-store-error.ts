/** A name for every code of the error catalogue, for programs to compare with. */
export const errorNames = {
  40000: 'invalid-request',
  40001: 'invalid-json',
  40002: 'invalid-body',
  40003: 'invalid-query',
  40004: 'invalid-id',
  40005: 'invalid-authorization',
  40006: 'invalid-key',
  40007: 'invalid-cursor',
  40100: 'token-missing',
  40101: 'token-invalid',
  40102: 'token-expired',
  40300: 'scope-missing',
  40400: 'path-not-found',
  40401: 'plant-not-found',
  40402: 'webhook-not-found',
  40403: 'delivery-not-found',
  40404: 'token-not-found',
  40500: 'method-not-allowed',
  40800: 'request-timeout',
  40900: 'plant-exists',
  40901: 'key-in-use',
  40902: 'limit-reached',
  41300: 'body-too-large',
  41400: 'url-too-long',
  41500: 'media-type-not-supported',
  41501: 'content-coding-not-supported',
  41700: 'expectation-not-supported',
  42200: 'key-reused',
  42201: 'url-refused',
  42900: 'too-many-requests',
  42901: 'too-many-failures',
  43100: 'headers-too-large',
  50000: 'internal',
  50100: 'transfer-coding-not-supported',
  50300: 'overloaded',
  50301: 'outcome-unknown',
  50302: 'store-unavailable',
  50303: 'shutting-down',
  50304: 'provider-unavailable',
  50500: 'version-not-supported',
} as const;

export type ErrorName = (typeof errorNames)[keyof typeof errorNames];

type Fields = Partial<Pick<PlantStoreError, 'error' | 'status' | 'requestId' | 'retryAfter' | 'cause'>>;

const names: Readonly<Record<number, ErrorName>> = errorNames;

/** A request that failed, after its retries. */
export class PlantStoreError extends Error {
  override readonly name = 'PlantStoreError';
  /** The code in the error catalogue, such as 40401. Undefined if the response is not from a plant store. */
  readonly error: number | undefined;
  /** The name of that code, such as `plant-not-found`. Undefined for a code that is newer than this client. */
  readonly code: ErrorName | undefined;
  /** The HTTP status. Undefined without a response; 0 for a redirect in a browser, which hides the status. */
  readonly status: number | undefined;
  /** The response's `X-Request-Id`, which the service's log contains. */
  readonly requestId: string | undefined;
  /** In how many seconds to try again, if the response says so. */
  readonly retryAfter: number | undefined;

  constructor(message: string, { error = 0, status, requestId, retryAfter, cause }: Fields = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.error = error || undefined;
    this.code = names[error];
    this.status = status;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}
