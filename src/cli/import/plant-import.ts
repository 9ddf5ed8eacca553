import { ConfigError } from '../../config/config.ts';
import { silentLog, systemRuntime } from '../../runtime.ts';
import { readApi } from '../api-options.ts';
import { OPEN } from '../atomic-file.ts';
import { formatOf, type PlantFormat, plantFormats } from '../export/formats.ts';
import { imports } from '../limits.ts';
import { counted, insist, printJson, say } from '../terminal/terminal.ts';
import { durationRule, parseLength, roughDuration } from '../terminal/time.ts';
import { argument, option, parseFile, parseUpTo, type Verb } from '../verb.ts';
import { bytesOf, inspect, isRereadable } from './file.ts';
import type { ImportFlags } from './import-file.ts';

export const plantImport: Verb = {
  description: 'add the plants in a file, each exactly once',
  arguments: [argument('<file>', 'a .csv, .tsv, .ndjson or .json file; - is standard input')],
  options: [
    option('--format <format>', "the file's format, regardless of its name").choices(plantFormats),
    option('--dry-run', 'check the file and send nothing'),
    option('--errors <file>', 'where to write failed rows (default: FILE.errors.csv)', parseFile),
    option('--again', 'add every row, even rows that an earlier import of this file added'),
    option(
      '--concurrency <count>',
      `concurrent requests (default: ${imports.requests.default})`,
      parseUpTo(imports.requests.most),
    ),
    option(
      '--patience <time>',
      `how long to retry while the service does not answer: ${durationRule} (default: ${roughDuration(imports.patienceMs)})`,
      parseLength,
    ),
    option('--json', 'print the result as a JSON object'),
  ],
  examples: [
    'plant import plants.csv',
    'plant import plants.csv --dry-run',
    'plant import - --format ndjson < plants.ndjson',
  ],
  notes: `The first line of a CSV file names the columns: name and, optionally, id and tag, in any order and case. Commas,
semicolons or tabs separate the values, as in that line. The other formats contain objects {"name", "id"?, "tag"?}: one
on each line of .ndjson, an array in .json.

Ctrl+C stops the import once the pending requests are answered. To continue, even after a crash, run the same command
again: within 24 hours, no row is added twice. Until the import is done, FILE.import marks that it started.

A failed row does not stop the others: it goes to FILE.errors.csv, which you can correct and import. The exit code is 0
when every row was added, 130 after Ctrl+C, and 1 otherwise.`,
  run,
};

async function run(flags: ImportFlags, file: string): Promise<void> {
  const format = flags.format ?? formatOf(file.replace(/\.tsv$/i, '.csv'));
  if (format === undefined) {
    throw new ConfigError([
      `The format of ${file === '-' ? 'standard input' : file} is unknown. Pass --format: ${plantFormats.join(', ')}.`,
    ]);
  }
  const isStream = file === '-' || OPEN.test(file) || !isRereadable(file);
  if (flags.dryRun) {
    if (!(await check(file, format, flags))) process.exitCode = 1;
    return;
  }
  const api = readApi(flags);
  const stopping = new AbortController();
  const { clock } = systemRuntime(silentLog);
  const order = { file, format, flags, api, stopping, clock };
  // Loaded here because its HTTP client is as large as all other plant verbs together.
  const { importFile, importStream } = await import('./import-file.ts');
  if (!(await (isStream ? importStream : importFile)(order))) process.exitCode ||= 1;
}

/** Checks a file and prints its problems. Returns whether it has none. */
async function check(file: string, format: PlantFormat, { json }: ImportFlags): Promise<boolean> {
  const bytes = file === '-' ? process.stdin : bytesOf(file);
  let failed = 0;
  const { rows } = await inspect(bytes, file, format, (some) => {
    for (const { row } of some) {
      if (!('problem' in row)) continue;
      failed++;
      if (failed <= imports.shownProblems) insist(`line ${row.line}: ${row.problem}`);
    }
  });
  if (failed > imports.shownProblems) insist(`… and ${failed - imports.shownProblems} more rows like these`);
  if (json) printJson({ rows, failed });
  say(`${counted(rows, 'row')} read, ${failed === 0 ? 'all valid' : `${failed} invalid`}. Nothing was sent.`);
  return failed === 0;
}
