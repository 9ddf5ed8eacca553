import { type Command, InvalidArgumentError } from 'commander';
import { type PlantId, parsePlantId } from '../plants/plant.ts';
import { call } from './api.ts';
import { ApiFailure } from './api-failure.ts';
import { type Api, type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { messageOf } from './failure.ts';
import { persist } from './retry.ts';
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
        `plant list --json | jq -r '.[] | select(.tag == "Acer") | .id' | xargs plant-store plant delete`,
      ),
    )
    .action(run);
  addApiOptions(command);
}

/** One that cannot be deleted does not keep the others. */
async function run(ids: readonly PlantId[], flags: ApiFlags): Promise<void> {
  const api = readApi(process.env, flags);
  let deleted = 0;
  for (const id of ids) {
    try {
      await remove(api, id, deleted > 0);
      deleted++;
    } catch (error) {
      // Without a service, or without the right to delete, the others would fail alike.
      if (!(error instanceof ApiFailure) || error.code !== NO_SUCH_PLANT) throw error;
      insist(messageOf(error));
      process.exitCode = 1;
    }
  }
  say(`Deleted: ${deleted} of ${ids.length}.`);
}

const NO_SUCH_PLANT = 40401;

/** After a try whose outcome is unknown, a plant that is not there counts as deleted by it. */
async function remove(api: Api, id: PlantId, isKnown: boolean): Promise<void> {
  let isDoubtful = false;
  await persist(
    async () => {
      try {
        await call(api, 'DELETE', `/plants/${id}`);
      } catch (error) {
        if (!(error instanceof ApiFailure)) throw error;
        if (isDoubtful && error.code === NO_SUCH_PLANT) return;
        if (error.lacks === 'answer' || (error.status ?? 0) >= 500) isDoubtful = true;
        throw error;
      }
    },
    { isKnown },
  );
}

function parseIds(text: string, before: readonly PlantId[] = []): PlantId[] {
  try {
    return [...before, parsePlantId(text)];
  } catch {
    throw new InvalidArgumentError('An id is a 64-bit integer in canonical form, such as 7 or -5.');
  }
}
