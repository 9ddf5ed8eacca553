export type PlantStoreErrorFields = {
  error?: number | undefined;
  status?: number | undefined;
  retryAfter?: number | undefined;
  cause?: unknown;
};

/** A request that did not succeed, after the retries that it was given. */
export class PlantStoreError extends Error {
  override readonly name = 'PlantStoreError';
  /** The code of the catalogue, such as 40401. Undefined when no plant store answered. */
  readonly error: number | undefined;
  /** The HTTP status. Undefined when nothing answered; 0 for a redirect in a browser, which does not show it. */
  readonly status: number | undefined;
  /** In how many seconds to try again, when the answer said so. */
  readonly retryAfter: number | undefined;

  constructor(message: string, { error, status, retryAfter, cause }: PlantStoreErrorFields = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.error = error;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}
