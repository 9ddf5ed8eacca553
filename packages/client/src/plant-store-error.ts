import { type ErrorName, errorNames } from './error-names.ts';

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
