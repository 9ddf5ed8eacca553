import { disabledUser } from '../access/users.ts';
import { AppError } from '../errors.ts';

/** What a write for a caller answers instead of its outcome when nothing was done. */

/** The caller is disabled or deleted. */
export const USER_GONE = 'user gone';
/** The key of the request has a record. */
export const KEY_USED = 'key used';

/** Passes an outcome on; throws AppError 40101 or 40901 when nothing was done. */
export function refuseUndone(outcome: unknown): unknown {
  if (outcome === USER_GONE) throw disabledUser();
  if (outcome === KEY_USED) {
    throw new AppError(40901, 'A request with this Idempotency-Key was running at the same time; retry.');
  }
  return outcome;
}

/** A command that failed by a fault of its own. */
export function fault(cause: unknown): AppError {
  return new AppError(50000, 'The store could not carry out the command.', { cause });
}
