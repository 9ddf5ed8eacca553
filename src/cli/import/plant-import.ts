import { ConfigError } from '../../config/config.ts';
import { silentLog, systemRuntime } from '../../runtime.ts';
import { readApi } from '../api-options.ts';
import { imports } from '../limits.ts';
import { stopSignal } from '../terminal/signals.ts';
import { insist, isQuiet, printJson, say } from '../terminal/terminal.ts';
import { durationRule, parseDuration, roughDuration } from '../terminal/time.ts';
import { argument, option, refuseValue, type Verb } from '../verb.ts';
import { bytesOf, inspect, isRereadable } from './file.ts';
import { type ImportFormat, importFormats } from './rows.ts';
import type { ImportFlags } from './work.ts';

/** `plant import FILE` */
export const plantImport: Verb = {
  description: 'add the plants of a file, each exactly once',
  arguments: [argument('<file>', 'a .csv, .ndjson or .json file; - is standard input')],
  options: [
    option('--format <format>', 'what is in it, whatever it is called').choices(importFormats),
    option('--dry-run', 'read the file and show what is wrong in it; send nothing'),
    option('--errors <file>', 'where rows go that fail (default: FILE.errors.csv)'),
    option('--again', 'add every row, also those that an earlier import of this file has added'),
    option(
      '--concurrency <count>',
      `requests under way at a time (default: ${imports.requests.default})`,
      parseConcurrency,
    ),
    option(
      '--patience <time>',
      `how long to try while the service does not answer: ${durationRule} (default: ${roughDuration(imports.patienceMs)})`,
      parsePatience,
    ),
    option('--json', 'print a JSON object with what was done'),
  ],
  examples: [
    'plant import plants.csv',
    'plant import plants.csv --dry-run',
    'plant import - --format ndjson < plants.ndjson',
  ],
  notes: `The first line of a CSV file names the columns: name, and if you like id and tag, in any order. The other formats hold
objects {"name", "id"?, "tag"?}: one in each line of .ndjson, an array of them in .json.

Ctrl+C stops the import once the requests under way are answered. Run the same command again to continue, also after a
crash: within 24 hours, no row is added twice. Until the import is done, FILE.import marks that it was begun.

A row that fails does not stop the others: it goes to FILE.errors.csv, which you can correct and import. The exit code
is 0 when every row was added, and 1 otherwise.`,
  isRemote: true,
  run,
};

async function run(given: ImportFlags, file: string): Promise<void> {
  const flags: ImportFlags = isQuiet() ? { ...given, quiet: true } : given;
  const format = flags.format ?? formatOf(file);
  const isStream = file === '-' || !isRereadable(file);
  if (flags.dryRun) {
    if (!(await check(file, format, flags))) process.exitCode = 1;
    return;
  }
  const api = readApi(process.env, flags);
  const stopping = new AbortController();
  const { clock } = systemRuntime(silentLog);
  void stopSignal(clock).then(() => stopping.abort());
  const order = { file, format, flags, api, stopping, clock };
  // Loaded only now: its HTTP client is as much code as all other verbs of plants, which do not need it.
  const { importFile, importStream } = await import('./work.ts');
  if (!(await (isStream ? importStream : importFile)(order))) process.exitCode = 1;
}

/** Reads a file to its end and shows what is wrong in it. Gives whether nothing is. */
async function check(file: string, format: ImportFormat, { quiet, json }: ImportFlags): Promise<boolean> {
  const bytes = file === '-' ? process.stdin : bytesOf(file);
  let failed = 0;
  const { rows } = await inspect(bytes, file === '-' ? 'Standard input' : file, format, (some) => {
    for (const { row } of some) {
      if (!('problem' in row)) continue;
      failed++;
      if (failed <= imports.shownProblems) insist(`line ${row.line}: ${row.problem}`);
    }
  });
  if (failed > imports.shownProblems) insist(`… and ${failed - imports.shownProblems} more rows like these`);
  if (json) printJson({ rows, failed });
  if (!quiet) {
    say(
      `${rows} rows read, ${failed === 0 ? 'nothing wrong with them' : `${failed} of them wrong`}. Nothing was sent.`,
    );
  }
  return failed === 0;
}

function formatOf(file: string): ImportFormat {
  const ending = file.slice(file.lastIndexOf('.') + 1).toLowerCase();
  const format = importFormats.find((known) => known === ending);
  if (format !== undefined) return format;
  throw new ConfigError([
    `What is in ${file === '-' ? 'standard input' : file}? Say it with --format: ${importFormats.join(', ')}.`,
  ]);
}

function parseConcurrency(text: string): number {
  const { most } = imports.requests;
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= most) return Number(text);
  return refuseValue(`an integer from 1 to ${most}`);
}

function parsePatience(text: string): number {
  return parseDuration(text) ?? refuseValue(durationRule);
}
