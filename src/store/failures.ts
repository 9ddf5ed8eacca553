import { AppError } from '../errors.ts';
import { http } from '../limits.ts';

export function unavailable(cause: unknown): AppError {
  return new AppError(50302, 'The store cannot be used now; nothing was done. Retry in a moment.', {
    headers: { 'retry-after': String(http.retryAfterSeconds) },
    cause,
  });
}

/** @param what what happened, as the beginning of a sentence */
export function outcomeUnknown(what: string, cause: unknown): AppError {
  return new AppError(50301, `${what}, so the outcome is unknown. Retry with the same key or id.`, {
    headers: { 'retry-after': String(http.retryAfterSeconds) },
    cause,
  });
}
