import { disabledUser } from '../access/users.ts';
import { AppError } from '../errors.ts';
import type { PlantId } from '../plants/plant.ts';
import type { CreateOutcome } from '../plants/port.ts';

/** Outcomes of a write for a caller when nothing was done. */

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

/** The id of the new plant, null when the wanted one is taken, or why none was created. */
export type Created = PlantId | null | 'full' | 'spent';

/** @param most the most plants a user may have */
export function createOutcome(created: Created, wanted: PlantId | undefined, most = Infinity): CreateOutcome {
  if (typeof created === 'bigint') return { created };
  if (created === 'full') return { full: most };
  if (created === 'spent') return { spent: true };
  if (wanted === undefined) throw fault(new Error('the store assigned an id that is taken'));
  return { taken: wanted };
}

/** The error of a command that failed because of a bug. */
export function fault(cause: unknown): AppError {
  return new AppError(50000, 'The store could not carry out the command.', { cause });
}
