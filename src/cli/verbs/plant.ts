import { randomUUID } from 'node:crypto';
import { InvalidArgumentError, Option } from 'commander';
import type { Page } from '../../../packages/client/src/pages.ts';
import { PlantStoreError } from '../../../packages/client/src/plant-store-error.ts';
import { idempotency as limits } from '../../limits.ts';
import { canonicalId, Id, type PlantId, plantJson } from '../../plants/plant.ts';
import { type Service, serviceFor } from '../api.ts';
import type { ApiFlags } from '../api-options.ts';
import type { ListedPlant } from '../export/formats.ts';
import { plantExport } from '../export/plant-export.ts';
import { Failure, messageOf } from '../failure.ts';
import { plantImport } from '../import/plant-import.ts';
import {
  firstOf,
  type PageQuery,
  pagesOf,
  parseLimit,
  printArray,
  printLines,
  printTable,
} from '../pages.ts';
import { interrupted } from '../terminal/signals.ts';
import { insist, outputAbandoned, print, say, shellWord, writeJson } from '../terminal/terminal.ts';
import { accept, argument, option, parseId, remote, type Verbs } from '../verb.ts';

type CreateFlags = ApiFlags & { tag?: string; id?: PlantId; key?: string; json?: true };
type ListFlags = ApiFlags & {
  limit?: number;
  tag?: string;
  name?: string;
  order?: 'desc';
  json?: true;
  ids?: true;
};

export const verbs: Verbs = remote({
  list: {
    description: 'list your plants by id, then plants that others share with you',
    options: [
      option('--limit <number>', 'how many at most (default: all)', parseLimit),
      option('--tag <text>', 'only plants with this tag'),
      option('--name <prefix>', 'only plants whose name starts with this, in any case, ordered by name'),
      new Option('--order <order>', 'desc: the highest id first').choices(['desc']).conflicts('name'),
      option('--json', 'print a JSON array of {id, name, tag, owner}; tag is absent if the plant has none'),
      new Option('--ids', 'print only the ids of your own plants, one per line').conflicts('json'),
    ],
    examples: [
      'plant list',
      'plant list --limit 20',
      'plant list --name al',
      'plant list --order desc --limit 20',
      'plant list --ids --tag Acer | xargs -r plant-store plant delete',
    ],
    async run(flags: ListFlags) {
      const { limit, tag, name, json, ids } = flags;
      const pages = wantedPages(serviceFor(flags, { patience: {} }), flags);
      const { isEmpty, hasMore } = await (ids
        ? printLines(pages, ({ id }) => String(id))
        : json
          ? printArray(pages, plantJson)
          : printTable(pages, ['ID', 'NAME', 'TAG', 'OWNER'], rowOf));
      if (isEmpty && !ids && !json) {
        const tagged = tag === undefined ? '' : ` with the tag "${tag}"`;
        const named = name === undefined ? '' : ` whose name starts with "${name}"`;
        say(`No plants${tagged}${named}. To create one: plant-store plant create NAME`);
      }
      if (hasMore && limit !== undefined) say('There are more: omit --limit to list all of them.');
    },
  },
  create: {
    description: 'create a plant and print its id',
    arguments: [argument('<name>', "the plant's name")],
    options: [
      option('--tag <text>', "the plant's tag; an empty tag is not the same as none"),
      option('--id <number>', `${Id.description} (default: the next free one)`, parseId),
      option(
        '--key <key>',
        `an idempotency key: repeating the command with it creates the plant once; 1 to ${limits.keyLength} printable ASCII characters (default: a new one)`,
        accept(
          (key) => /^[\x20-\x7e]+$/.test(key) && key.length <= limits.keyLength,
          `A key has 1 to ${limits.keyLength} printable ASCII characters.`,
        ),
      ),
      option('--json', 'print {id, name, tag} as a JSON object'),
    ],
    examples: [
      'plant create Alder',
      "plant create 'Bur oak' --tag Quercus --id 9007199254740993",
      'plant create Alder --key order-1042',
    ],
    async run(flags: CreateFlags, name: string) {
      const { tag, key = `cli-${randomUUID()}`, json } = flags;
      const hint = ` To retry safely, repeat the command with --key ${shellWord(key)}.`;
      const service = serviceFor(flags, { patience: { hint } });
      const { id } = await service.plants
        .create({ name, tag, id: flags.id }, { idempotencyKey: key })
        .catch((error: unknown) => {
          if (!(error instanceof PlantStoreError) || !service.mayBeDone()) throw error;
          throw new Failure(error.message + hint, { cause: error });
        });
      if (json) await writeJson(`${plantJson({ id, name, tag })}\n`);
      else print([String(id)]);
      const isReplay = flags.key !== undefined && service.isReplay();
      say(isReplay ? 'Already created with the same key.' : `Created the plant "${name}".`);
    },
  },
  delete: {
    description: 'delete your own plants, without asking',
    arguments: [argument('<id...>', 'the ids that plant list shows', parseIds)],
    examples: [
      'plant delete 7',
      'plant delete 7 8 -5',
      'plant list --ids --tag Acer | xargs -r plant-store plant delete',
    ],
    /** An unknown id does not stop the others; any other failure does, and then the count is printed, too. */
    async run(flags: ApiFlags, ids: readonly PlantId[]) {
      const stopping = interrupted();
      const service = serviceFor(flags, { patience: { stopping } });
      let deleted = 0;
      const tell = () => say(`Deleted ${deleted} of ${ids.length}.`);
      try {
        for (const id of ids) {
          if (stopping.aborted) throw new Failure(`Stopped before the plant ${id}.`);
          if (await removeIfThere(service, id)) deleted++;
        }
      } catch (error) {
        if (deleted > 0) tell();
        throw error;
      }
      tell();
    },
  },
  import: plantImport,
  export: plantExport,
});

function rowOf({ id, name, tag = '', owner }: ListedPlant): string[] {
  return [String(id), name, tag, owner];
}

/** With `--ids`, only the user's own plants: for other verbs, ids mean only those. */
async function* wantedPages(
  service: Service,
  { limit = Infinity, tag, ids, name, order }: ListFlags,
): AsyncGenerator<Page<ListedPlant>> {
  const signal = outputAbandoned();
  const page = (query: PageQuery) => service.plants.page({ ...query, name, order });
  if (tag === undefined && !ids) return yield* pagesOf(page, { limit, signal });
  const user = ids && (await service.me()).user;
  yield* firstOf(wanted(), limit);

  async function* wanted(): AsyncGenerator<Page<ListedPlant>> {
    for await (const { items, next } of pagesOf(page, { limit: Infinity, signal })) {
      const own = user === undefined ? items : items.filter(({ owner }) => owner === user);
      yield { items: tag === undefined ? own : own.filter((plant) => plant.tag === tag), next };
      // The user's own plants come first.
      if (own.length < items.length) return;
    }
  }
}

/** Reports a missing plant and returns false. Any other failure would hit the remaining plants too, so it is thrown. */
async function removeIfThere({ plants }: Service, id: PlantId): Promise<boolean> {
  try {
    await plants.delete(id);
    return true;
  } catch (error) {
    if (!(error instanceof PlantStoreError) || error.error !== NO_SUCH_PLANT) throw error;
    insist(...messageOf(error));
    process.exitCode ||= 1;
    return false;
  }
}

const NO_SUCH_PLANT = 40401;

function parseIds(text: string, before: readonly PlantId[] = []): PlantId[] {
  const id = canonicalId(text);
  if (id !== undefined) return [...before, id];
  throw new InvalidArgumentError('An id is a 64-bit integer in canonical form, such as 7 or -5.');
}
