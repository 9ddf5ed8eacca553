import { AppError } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import type { PlantId, PlantInput } from './plant.ts';
import type { PlantStore } from './port.ts';

export type PlantsContext = { store: PlantStore; runtime: Runtime };

/**
 * Adds a plant and its event for the owner, and resolves with its id once both are on disk.
 *
 * @throws AppError 40900 when the owner already has a plant with this id.
 */
export async function createPlant(
  { store, runtime }: PlantsContext,
  owner: number,
  { id, name, tag }: PlantInput,
): Promise<PlantId> {
  // In this order: what is asked for by a time is looked up by id.
  const at = runtime.clock.now();
  const event = runtime.ids.next('evt');
  const outcome = await store.create({ owner, id, name, tag, event, at });
  if ('created' in outcome) return outcome.created;
  throw new AppError(40900, `You already have a plant with the id ${outcome.taken}; nothing was changed.`);
}

/** @throws AppError 40401 when the owner has no such plant. */
export async function deletePlant({ store }: PlantsContext, owner: number, id: PlantId): Promise<void> {
  if (await store.delete(owner, id)) return;
  throw new AppError(40401, `You have no plant with the id ${id}.`);
}
