import type { TokenCreationOutcome, TokenRotationOutcome } from '../access/port.ts';
import { disabledUser } from '../access/users.ts';
import { AppError, type ErrorCode, retryLater } from '../errors.ts';
import type { DeliveryStore, RotationOutcome } from '../webhooks/port.ts';

/** How writes end, besides their results. */

/** The caller is disabled or deleted. */
export const USER_GONE = 'user gone';
/** The request's key already has a record. */
export const KEY_USED = 'key used';

/** Returns the outcome; throws AppError 40101 or 40901 if nothing was done. */
export function refuseUndone(outcome: unknown): unknown {
  if (outcome === USER_GONE) throw disabledUser();
  if (outcome === KEY_USED) {
    throw new AppError(40901, 'A request with this Idempotency-Key was running at the same time; retry.');
  }
  return outcome;
}

const EFFECTS: readonly unknown[] = [
  'created' satisfies TokenCreationOutcome,
  'rotated' satisfies TokenRotationOutcome & RotationOutcome,
  'redelivered' satisfies Awaited<ReturnType<DeliveryStore['redeliver']>>,
];

/**
 * Whether the outcome of a POST's write means that it took effect: only then is the answer kept with its key. Outcomes
 * that are text are in `EFFECTS`.
 */
export function hadEffect(outcome: unknown): boolean {
  return outcome === true || typeof outcome === 'bigint' || EFFECTS.includes(outcome);
}

/** The error of a command that failed: one that says why, or else a bug. */
export function asAppError(error: unknown): AppError {
  return error instanceof AppError ? error : fault(error);
}

export function fault(cause: unknown): AppError {
  return new AppError(50000, 'The store could not carry out the command.', { cause });
}

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
