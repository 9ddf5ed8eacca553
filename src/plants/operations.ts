import { AppError } from '../errors.ts';
import type { Caller } from '../idempotency/port.ts';
import type { Runtime } from '../runtime.ts';
import { LAST_ASSIGNED_ID, type PlantId, type PlantInput } from './plant.ts';
import type { PlantStore } from './port.ts';

type PlantsContext = { store: PlantStore; runtime: Runtime };

/**
 * Adds a plant and its event for the owner. Resolves with the plant's id once both are on disk.
 * @throws AppError 40900 when the owner already has a plant with this id, 40902 when they have reached the limit.
 */
export async function createPlant(
  { store, runtime }: PlantsContext,
  owner: number,
  { id, name, tag }: PlantInput,
  caller?: Caller,
): Promise<PlantId> {
  // In this order: queries by time look up events by id.
  const at = runtime.clock.now();
  const event = runtime.ids.next('evt');
  const outcome = await store.create({ owner, id, name, tag, event, at, trace: caller?.span?.trace }, caller);
  if (typeof outcome === 'bigint') return outcome;
  if (outcome === 'taken') {
    throw new AppError(40900, `You already have a plant with the id ${id}; nothing was changed.`);
  }
  if (outcome === 'spent') {
    throw new AppError(
      40902,
      `You have used all ids that the service assigns (up to ${LAST_ASSIGNED_ID}); choose an id for the plant.`,
    );
  }
  throw new AppError(40902, `You have ${outcome.full} plants, which is the limit; delete one first.`);
}

/** @throws AppError 40401 when the owner has no such plant. */
export async function deletePlant(
  { store }: PlantsContext,
  owner: number,
  id: PlantId,
  caller?: Caller,
): Promise<void> {
  if (await store.delete(owner, id, caller)) return;
  throw new AppError(40401, `You have no plant with the id ${id}.`);
}
