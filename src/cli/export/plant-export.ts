import { Option } from 'commander';
import type { Page } from '../../../packages/client/src/pages.ts';
import { ConfigError } from '../../config/config.ts';
import { serviceFor } from '../api.ts';
import type { ApiFlags } from '../api-options.ts';
import { type FileOptions, unwritable, type Write, writeAtomically } from '../atomic-file.ts';
import { Failure } from '../failure.ts';
import { pagesOf } from '../pages.ts';
import { showProgress } from '../terminal/progress.ts';
import { interrupted } from '../terminal/signals.ts';
import {
  counted,
  isOutputShown,
  outputAbandoned,
  safeCsv,
  safeJson,
  say,
  writeCsv,
  writeJson,
} from '../terminal/terminal.ts';
import { argument, option, parseFile, type Verb } from '../verb.ts';
import { formatOf, type ListedPlant, type PlantFormat, plantFormats, plantWriter } from './formats.ts';

type ExportFlags = ApiFlags & { format?: PlantFormat; owner?: string; shared?: true; force?: true };

async function run(flags: ExportFlags, name?: string): Promise<void> {
  const file = OUTPUT.includes(name) ? undefined : name;
  const format = flags.format ?? (file === undefined ? 'csv' : formatOf(file));
  if (format === undefined) {
    throw new ConfigError([
      `The name of ${file} does not tell the format. Pass --format csv, ndjson or json.`,
    ]);
  }
  const stopping = new AbortController();
  const service = serviceFor(flags, { patience: { stopping: stopping.signal } });
  const { user } = await service.me();
  const owner = flags.shared ? undefined : (flags.owner ?? user);
  const signal = file === undefined ? outputAbandoned() : stopping.signal;
  const order: ExportOrder = { file, format, owner, isOwn: owner === user, signal };
  const pages = pagesOf(service.plants.page, { limit: Infinity, signal });
  const progress = showProgress('Exporting');
  // On a terminal the plants themselves show the progress.
  const onProgress = (count: number) => (file ?? !isOutputShown()) && progress.update(`${count} plants`);
  const walk = (write: Write) => exportPlants(order, pages, write, onProgress);
  const exporting =
    file === undefined
      ? walk(format === 'csv' ? writeCsv : writeJson)
      : toFile(file, order, { replaces: flags.force ?? false, onBegin: () => interrupted(stopping) }, walk);
  const exported = await exporting.finally(progress.end);
  // A file is complete now, even if stopped while it was flushed; a reader of standard output may have left.
  if (file !== undefined || !signal.aborted) sayWhat(exported, order);
}

export const plantExport: Verb = {
  description: 'write all of your plants to a file that plant import can read',
  arguments: [
    argument('[file]', 'a name that ends in .csv, .ndjson or .json (default: standard output)', (text) =>
      text === '-' ? text : parseFile(text),
    ),
  ],
  options: [
    option('--format <format>', "the format (default: from the file's name, else csv)").choices(plantFormats),
    option('--owner <name>', 'the plants of this user: you, or someone who shares with you'),
    new Option(
      '--shared',
      'all plants you may read, with a column for the owner; plant import does not accept it',
    ).conflicts('owner'),
    option('--force', 'replace an existing file'),
  ],
  examples: [
    'plant export plants.csv',
    'plant export plants.ndjson --force --quiet',
    'plant export --format ndjson | gzip > plants.ndjson.gz',
    'plant export everything.csv --shared',
  ],
  notes: `The file gets its name once it is complete and on disk; until then, an existing file stays. If the connection breaks, the export
resumes where it was. CSV cannot tell an empty tag from none; ndjson and json contain everything exactly.`,
  run,
};

/** Names for standard output. */
const OUTPUT: readonly (string | undefined)[] = [undefined, '-', '/dev/stdout', '/dev/fd/1'];

type ExportOrder = {
  /** Undefined for standard output. */
  file: string | undefined;
  format: PlantFormat;
  /** Undefined for all plants that the user may read. */
  owner: string | undefined;
  /** Whether the owner is the user. */
  isOwn: boolean;
  /** Aborting it ends the pages early. */
  signal: AbortSignal;
};

async function toFile(
  file: string,
  { format, signal }: ExportOrder,
  options: FileOptions,
  walk: (write: Write) => Promise<Exported>,
): Promise<Exported> {
  const safe = format === 'csv' ? safeCsv : safeJson;
  return writeAtomically(file, options, async (write, isTerminal) => {
    const exported = await walk(isTerminal ? (text) => write(safe(text)) : write);
    if (signal.aborted) throw new Failure(`The export was stopped. ${file} is unchanged.`);
    return exported;
  }).catch((error) => {
    throw unwritable(file, error, 'Choose another place.');
  });
}

/**
 * Writes plants page by page. The list starts with the user's own plants and groups them by owner, so the export stops
 * where the wanted owner's plants end. Throws a `Failure` when another owner has none that the user may read.
 * @param onProgress called with the number of plants so far
 */
async function exportPlants(
  { format, owner, isOwn, signal }: ExportOrder,
  pages: AsyncIterable<Page<ListedPlant>>,
  write: Write,
  onProgress: (count: number) => void,
) {
  const writer = plantWriter(format, owner === undefined);
  const isWanted = (plant: ListedPlant) => owner === undefined || plant.owner === owner;
  let [count, emptyTags, others] = [0, 0, false];
  for await (const { items: plants } of pages) {
    const wanted = plants.filter(isWanted);
    if (wanted.length > 0) {
      await write((count === 0 ? writer.begin : '') + writer.rows(wanted, count === 0));
      count += wanted.length;
      emptyTags += wanted.filter(({ tag }) => tag === '').length;
      onProgress(count);
    }
    const last = plants.at(-1);
    const isBehind = last !== undefined && !isWanted(last) && (isOwn || count > 0);
    others ||= isOwn && isBehind;
    if (isBehind) break;
  }
  if (count === 0 && owner !== undefined && !isOwn && !signal.aborted) {
    throw new Failure(`You may not read any plants of "${owner}".`);
  }
  if (count === 0) await write(writer.begin);
  await write(writer.end);
  return {
    count,
    /** Whether the user may also read plants of others. */
    others,
    /** Plants with an empty tag. */
    emptyTags,
  };
}

type Exported = Awaited<ReturnType<typeof exportPlants>>;

function sayWhat({ count, others, emptyTags }: Exported, { file, owner, format }: ExportOrder): void {
  const of = owner === undefined ? '' : ` of "${owner}"`;
  say(`Exported ${counted(count, 'plant')}${of}${file === undefined ? '' : ` to ${file}`}.`);
  if (others)
    say('Others share plants with you: --shared exports those too, --owner NAME those of one user.');
  if (format === 'csv' && emptyTags > 0) {
    say(`Empty tags, which CSV cannot tell from none: ${emptyTags}. --format ndjson preserves them.`);
  }
}
