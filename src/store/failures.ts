import { type AppError, type ErrorCode, retryLater } from '../errors.ts';

export function unavailable(cause: unknown): AppError {
  return retryLater(50302, 'The store is not available; nothing was done. Retry in a moment.', { cause });
}

/** @param what the beginning of a sentence that says what happened */
export function outcomeUnknown(what: string, cause: unknown): AppError {
  return retryLater(50301, `${what}, so the outcome is unknown. Retry with the same key or id.`, { cause });
}

/** Errors as data, to pass between threads: messages do not preserve their class. */
export type PlainError = {
  code: ErrorCode;
  message: string;
  headers: Record<string, string>;
  cause: PlainCause | undefined;
};

/** `isFinal` of a StoreFailure, `errcode` of an error of SQLite. */
export type PlainCause = {
  message: string;
  stack: string | undefined;
  isFinal: boolean | undefined;
  errcode: number | undefined;
};
