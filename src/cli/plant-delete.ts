import { type Command, InvalidArgumentError } from 'commander';
import { type PlantId, parsePlantId } from '../plants/plant.ts';
import { call } from './api.ts';
import { ApiFailure } from './api-failure.ts';
import { type Api, type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { Failure, messageOf } from './failure.ts';
import { interrupted } from './interruption.ts';
import { persist, type Retries } from './retry.ts';
import { insist, say } from './terminal.ts';

/** `plant delete ID...` */
export function plantDelete(plant: Command): void {
  const command = plant
    .command('delete')
    .description('delete plants of yours, without asking')
    .argument('<id...>', 'the ids that plant list shows', parseIds)
    .configureHelp(
      examplesFirst(
        'plant delete 7',
        'plant delete 7 8 -5',
        'plant list --ids --tag Acer | xargs -r plant-store plant delete',
      ),
    )
    .action(run);
  addApiOptions(command);
}

/** One that cannot be deleted does not keep the others. What was deleted is also said when it stops in the middle. */
async function run(ids: readonly PlantId[], flags: ApiFlags): Promise<void> {
  const api = readApi(process.env, flags);
  const signal = interrupted();
  let deleted = 0;
  const tell = () => say(`Deleted: ${deleted} of ${ids.length}.`);
  try {
    for (const id of ids) {
      if (signal.aborted) throw new Failure(`It was stopped before the plant ${id}.`);
      if (await isRemoved(api, id, { isKnown: deleted > 0, signal })) deleted++;
    }
  } catch (error) {
    if (deleted > 0) tell();
    throw error;
  }
  tell();
}

/** False for a plant that is not there, which is told. Without a service, or the right to delete, all others fail alike. */
async function isRemoved(api: Api, id: PlantId, retries: Retries): Promise<boolean> {
  try {
    await remove(api, id, retries);
    return true;
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.code !== NO_SUCH_PLANT) throw error;
    insist(...messageOf(error));
    process.exitCode = 1;
    return false;
  }
}

const NO_SUCH_PLANT = 40401;

/** After a try whose outcome is unknown, a plant that is not there counts as deleted by it. */
async function remove(api: Api, id: PlantId, retries: Retries): Promise<void> {
  let isDoubtful = false;
  await persist(async () => {
    try {
      await call(api, 'DELETE', `/plants/${id}`);
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      if (isDoubtful && error.code === NO_SUCH_PLANT) return;
      if (error.lacks === 'answer' || (error.status ?? 0) >= 500) isDoubtful = true;
      throw error;
    }
  }, retries);
}

function parseIds(text: string, before: readonly PlantId[] = []): PlantId[] {
  try {
    return [...before, parsePlantId(text)];
  } catch {
    throw new InvalidArgumentError('An id is a 64-bit integer in canonical form, such as 7 or -5.');
  }
}
