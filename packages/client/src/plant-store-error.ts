export type PlantStoreErrorFields = {
  error?: number | undefined;
  status?: number | undefined;
  retryAfter?: number | undefined;
  cause?: unknown;
};

/** A request that failed, after its retries. */
export class PlantStoreError extends Error {
  override readonly name = 'PlantStoreError';
  /** The code in the error catalogue, such as 40401. Undefined if the response is not from a plant store. */
  readonly error: number | undefined;
  /** The HTTP status. Undefined without a response; 0 for a redirect in a browser, which hides the status. */
  readonly status: number | undefined;
  /** In how many seconds to try again, if the response says so. */
  readonly retryAfter: number | undefined;

  constructor(message: string, { error, status, retryAfter, cause }: PlantStoreErrorFields = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.error = error;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}
