import { type Command, InvalidArgumentError } from 'commander';
import { type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { plantJson } from './plant-json.ts';
import { type PlantPage, plantPages } from './plant-pages.ts';
import { growingTable } from './table.ts';
import { outputAbandoned, print, say } from './terminal.ts';

/** `plant list` */
export function plantList(plant: Command): void {
  const command = plant
    .command('list')
    .description('list your plants by id, then those that others share with you')
    .option('--limit <number>', 'so many at most (default: all)', parseLimit)
    .option('--json', 'print a JSON array of {id, name, tag, owner}; a plant without a tag has none')
    .configureHelp(
      examplesFirst(
        'plant list',
        'plant list --limit 20',
        `plant list --json | jq -r '.[] | select(.tag == "Quercus") | .id'`,
      ),
    )
    .action(run);
  addApiOptions(command);
}

type ListFlags = ApiFlags & { limit?: number; json?: true };

async function run(flags: ListFlags): Promise<void> {
  const limit = flags.limit ?? Number.POSITIVE_INFINITY;
  const pages = plantPages(readApi(process.env, flags), { limit, signal: outputAbandoned() });
  const more = await (flags.json ? printJson(pages) : printTable(pages));
  if (more && flags.limit !== undefined) say('There are more: without --limit all of them are shown.');
}

/** Resolves with whether there are plants behind those that were printed. */
async function printTable(pages: AsyncIterable<PlantPage>): Promise<boolean> {
  const table = growingTable(['ID', 'NAME', 'TAG', 'OWNER'], process.stdout);
  let isEmpty = true;
  let more = false;
  for await (const { plants, more: behind } of pages) {
    more = behind;
    if (plants.length === 0) continue;
    isEmpty = false;
    print(table.next(plants.map(({ id, name, tag = '', owner }) => [String(id), name, tag, owner])));
  }
  if (isEmpty) say('There are no plants. To make one: plant-store plant create NAME');
  return more;
}

const BETWEEN = ',\n  ';

/** One array, however many pages it takes. */
async function printJson(pages: AsyncIterable<PlantPage>): Promise<boolean> {
  let before = '[\n  ';
  let more = false;
  for await (const { plants, more: behind } of pages) {
    more = behind;
    if (plants.length === 0) continue;
    process.stdout.write(before + plants.map(plantJson).join(BETWEEN));
    before = BETWEEN;
  }
  print(before.startsWith('[') ? '[]' : '\n]');
  return more;
}

function parseLimit(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be an integer from 1 to 999999999.');
}
