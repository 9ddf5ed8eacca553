import { type Command, InvalidArgumentError, Option } from 'commander';
import { plantJson } from '../plants/plant.ts';
import { type Api, type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { userOf } from './me.ts';
import { type PlantPage, plantPages } from './plant-pages.ts';
import { persist } from './retry.ts';
import { growingTable } from './table.ts';
import { outputAbandoned, print, say, writeJson } from './terminal.ts';

/** `plant list` */
export function plantList(plant: Command): void {
  const command = plant
    .command('list')
    .description('list your plants by id, then those that others share with you')
    .option('--limit <number>', 'so many at most (default: all)', parseLimit)
    .option('--tag <text>', 'only those with this tag')
    .option('--json', 'print a JSON array of {id, name, tag, owner}; a plant without a tag has none')
    .addOption(
      new Option('--ids', 'print only ids, one a line, and of your own plants only').conflicts('json'),
    )
    .configureHelp(
      examplesFirst(
        'plant list',
        'plant list --limit 20',
        'plant list --ids --tag Acer | xargs -r plant-store plant delete',
      ),
    )
    .action(run);
  addApiOptions(command);
}

type ListFlags = ApiFlags & { limit?: number; tag?: string; json?: true; ids?: true };

async function run(flags: ListFlags): Promise<void> {
  const pages = pagesOf(readApi(process.env, flags), flags);
  const more = await printAs(flags, pages);
  if (more && flags.limit !== undefined) say('There are more: without --limit all of them are shown.');
}

/** Resolves with whether there are plants behind those that were printed. */
async function printAs({ ids, json, tag }: ListFlags, pages: AsyncIterable<PlantPage>): Promise<boolean> {
  if (ids) return printIds(pages);
  return json ? printArray(pages) : printTable(pages, tag);
}

/** Ids are for other verbs, which know those of the user's own plants only: somebody else's plant may have the same. */
async function* pagesOf(
  api: Api,
  { limit = Number.POSITIVE_INFINITY, tag, ids }: ListFlags,
): AsyncGenerator<PlantPage> {
  const signal = outputAbandoned();
  if (tag === undefined && !ids) return yield* plantPages(api, { limit, signal });
  const user = ids && (await persist(() => userOf(api)));
  let left = limit;
  for await (const { plants } of plantPages(api, { limit: Number.POSITIVE_INFINITY, signal })) {
    const own = user === undefined ? plants : plants.filter(({ owner }) => owner === user);
    const wanted = tag === undefined ? own : own.filter((plant) => plant.tag === tag);
    yield { plants: wanted.slice(0, left), more: wanted.length > left };
    left -= wanted.length;
    // The user's own come first.
    if (left < 0 || own.length < plants.length) return;
  }
}

async function printIds(pages: AsyncIterable<PlantPage>): Promise<boolean> {
  let more = false;
  for await (const { plants, more: behind } of pages) {
    more = behind;
    if (plants.length > 0) print(...plants.map(({ id }) => String(id)));
  }
  return more;
}

async function printTable(pages: AsyncIterable<PlantPage>, tag: string | undefined): Promise<boolean> {
  const table = growingTable(['ID', 'NAME', 'TAG', 'OWNER']);
  let isEmpty = true;
  let more = false;
  for await (const { plants, more: behind } of pages) {
    more = behind;
    if (plants.length === 0) continue;
    isEmpty = false;
    print(...table.next(plants.map(({ id, name, tag = '', owner }) => [String(id), name, tag, owner])));
  }
  if (isEmpty) {
    const none = tag === undefined ? 'There are no plants' : `There are no plants with the tag "${tag}"`;
    say(`${none}. To make one: plant-store plant create NAME`);
  }
  return more;
}

const BETWEEN = ',\n  ';

/** One array, however many pages it takes. */
async function printArray(pages: AsyncIterable<PlantPage>): Promise<boolean> {
  let before = '[\n  ';
  let more = false;
  for await (const { plants, more: behind } of pages) {
    more = behind;
    if (plants.length === 0) continue;
    await writeJson(before + plants.map(plantJson).join(BETWEEN));
    before = BETWEEN;
  }
  await writeJson(before.startsWith('[') ? '[]\n' : '\n]\n');
  return more;
}

function parseLimit(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be an integer from 1 to 999999999.');
}
