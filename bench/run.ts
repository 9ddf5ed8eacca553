import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type Figure,
  figureTable,
  isMet,
  loadTable,
  type Report,
  summary,
  warnings,
} from './measure/report.ts';
import type { Section } from './measure/section.ts';
import { arrival } from './sections/deliveries/arrival.ts';
import { asked } from './sections/deliveries/asked.ts';
import { backlog } from './sections/deliveries/backlog.ts';
import { beside } from './sections/deliveries/beside.ts';
import { deliver } from './sections/deliveries/deliver.ts';
import { duplicates } from './sections/deliveries/duplicates.ts';
import { neighbours } from './sections/deliveries/neighbours.ts';
import { outbox } from './sections/deliveries/outbox.ts';
import { replay } from './sections/deliveries/replay.ts';
import { postgres } from './sections/postgres/postgres.ts';
import { postgresDeliver } from './sections/postgres/postgres-deliver.ts';
import { auth } from './sections/requests/auth.ts';
import { create } from './sections/requests/create.ts';
import { deletes } from './sections/requests/delete.ts';
import { firstPages } from './sections/requests/first-pages.ts';
import { list } from './sections/requests/list.ts';
import { observed } from './sections/requests/observed.ts';
import { overload } from './sections/requests/overload.ts';
import { page } from './sections/requests/page.ts';
import { retries } from './sections/requests/retries.ts';
import { search } from './sections/requests/search.ts';
import { slowClients } from './sections/requests/slow-clients.ts';
import { slowDisk } from './sections/requests/slow-disk.ts';
import { stalledReaders } from './sections/requests/stalled-readers.ts';
import { start } from './sections/requests/start.ts';
import { stream } from './sections/requests/stream.ts';
import { temporaryFolder } from './servers/cleanup.ts';
import { isInstalled, pinSelf } from './servers/tools.ts';

/** `npm run bench`: measures the service against its references and prints one table. */

const sections: Record<string, Section> = {
  ...{ list, 'first-pages': firstPages, create, delete: deletes },
  ...{ 'slow-disk': slowDisk, stream, page, search, start },
  ...{ deliver, outbox, arrival, neighbours, beside, backlog, duplicates, replay },
  ...{ auth, observed, retries, overload, 'slow-clients': slowClients },
  ...{ asked, 'stalled-readers': stalledReaders, postgres, 'postgres-deliver': postgresDeliver },
};

const USAGE = `Usage: node bench/run.ts [section…] [--quick] [--json] [--before <folder>]

Sections: ${Object.keys(sections).join(', ')} (all of them when none is named)
  --quick   fewer and shorter rounds, smaller stores: to see that it runs, not to quote
  --json    the result as JSON on standard output
  --before  a folder with another version of the program (git worktree): create, list, search, deliver, arrival and
            postgres-deliver measure it side by side
  --help    this text
`;

process.exit(await main());

async function main(): Promise<number> {
  const given = readArguments();
  if ('error' in given) return refuse(given.error);
  const { names, quick, json, help, before } = given;
  if (help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const unknown = names.filter((name) => !(name in sections));
  if (unknown.length > 0) return refuse(`There is no section ${unknown.join(', ')}.`);
  if (process.platform !== 'linux') return refuse('The bench reads /proc, which only Linux has.');
  if (!isInstalled('wrk')) return refuse('wrk is missing. On Debian: apt-get install wrk');

  const setting = pinSelf()
    ? 'servers on core 0, the load and the bench on core 1'
    : 'taskset is missing: nothing is pinned to a core';
  say(setting);
  const bench = { quick, folder: temporaryFolder().path, before, say };
  const reports: Report[] = [];
  for (const [name, section] of Object.entries(sections)) {
    if (names.length > 0 && !names.includes(name)) continue;
    say(`${name} …`);
    reports.push(await section(bench));
  }
  process.stdout.write(json ? asJson(reports, setting) : asText(reports, setting));
  return 0;
}

type Arguments = {
  names: string[];
  quick: boolean;
  json: boolean;
  help: boolean;
  before: string | undefined;
};

function readArguments(): Arguments | { error: string } {
  const options = {
    quick: { type: 'boolean' },
    json: { type: 'boolean' },
    before: { type: 'string' },
    help: { type: 'boolean' },
  } as const;
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const { quick = false, json = false, help = false, before } = values;
    return { names: positionals, quick, json, help, before: before && resolve(before) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function refuse(why: string): number {
  process.stderr.write(`${why}\n\n${USAGE}`);
  return 2;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function asText(reports: Report[], setting: string): string {
  const loads = loadsOf(reports);
  const parts = [
    figureTable(reports.flatMap(({ figures }) => figures)),
    ...(loads.size > 0 ? [loadTable(loads)] : []),
    [setting, ...remarks(reports)].map((line) => `- ${line}`).join('\n'),
  ];
  return `\n${parts.join('\n\n')}\n`;
}

function asJson(reports: Report[], setting: string): string {
  const figures = reports.flatMap((report) => report.figures).map(describe);
  const loads = Object.fromEntries(loadsOf(reports));
  return `${JSON.stringify({ setting, figures, loads, notes: remarks(reports) }, undefined, 2)}\n`;
}

function describe(figure: Figure) {
  return { ...figure, ...summary(figure.values), met: isMet(figure) };
}

function loadsOf(reports: Report[]) {
  return new Map(reports.flatMap(({ loads }) => [...(loads ?? [])]));
}

function remarks(reports: Report[]): string[] {
  return [...reports.flatMap(({ notes }) => notes ?? []), ...warnings(loadsOf(reports))];
}
