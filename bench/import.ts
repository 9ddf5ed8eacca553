import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { PROGRAM } from '../testkit/processes/executable.ts';
import { askFor } from './load/client.ts';
import { endedChildrenCpuSeconds } from './measure/proc.ts';
import { type Figure, figureTable, isMet } from './measure/report.ts';
import { remarks, watchCpu } from './measure/usage.ts';
import { temporaryFolder } from './servers/cleanup.ts';
import { startService, TOKEN } from './servers/service.ts';

/**
 * `node bench/import.ts [rounds]`: imports a file of 100 000 plants into a new store with `plant import`, and checks
 * that all of them exist. Importer and service run on the same machine, on any cores. Exit code 1 when a median misses
 * its target, or a plant is missing.
 */

const ROWS = 100_000;

/** CPU times are in microseconds per row. */
type Round = { rate: number; service: number; importer: number; notes: string[] };

const rounds: Round[] = [];
for (let i = 0; i < Number(process.argv[2] ?? 5); i++) rounds.push(await importOnce());
const figures: Figure[] = [
  {
    name: `plant import of ${ROWS} rows`,
    unit: 'rows/s',
    values: rounds.map(({ rate }) => rate),
    target: { atLeast: 5_000 },
  },
  {
    name: 'CPU of the service per row',
    unit: 'µs',
    values: rounds.map(({ service }) => service),
    target: { atMost: 40 },
  },
  { name: 'CPU of the importer per row', unit: 'µs', values: rounds.map(({ importer }) => importer) },
];
const notes = rounds.flatMap((round) => round.notes).map((note) => `- ${note}`);
process.stdout.write(`${[figureTable(figures), ...notes].join('\n\n')}\n`);
if (figures.some((figure) => isMet(figure) === false)) process.exitCode = 1;

/** From the start of the program to its end, which includes reading the file twice. */
async function importOnce(): Promise<Round> {
  const folder = temporaryFolder().path;
  const file = join(folder, 'plants.csv');
  await pipeline(Readable.from(lines()), createWriteStream(file));
  const service = await startService({ dataDir: join(folder, 'data'), env: {}, core: undefined });
  const usage = watchCpu([service.pid]);
  const before = endedChildrenCpuSeconds();
  const child = spawn(process.execPath, [PROGRAM, 'plant', 'import', file, '--json', '--quiet'], {
    env: { ...process.env, PLANT_STORE_URL: service.url, PLANT_STORE_TOKEN: TOKEN },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const used = usage();
  const { added } = JSON.parse(output);
  const { seconds, watched } = used;
  const importer = endedChildrenCpuSeconds() - before;
  const plants: unknown[] = JSON.parse((await askFor(`${service.url}/plants`)).body);
  await service.stop();
  if (added !== ROWS || plants.length !== ROWS) throw new Error(`${added} added, ${plants.length} are there`);
  return {
    rate: ROWS / seconds,
    service: ((watched[0] ?? 0) * 1e6) / ROWS,
    importer: (importer * 1e6) / ROWS,
    notes: remarks('import', used),
  };
}

function* lines(): Iterable<string> {
  yield 'name,tag\n';
  for (let i = 0; i < ROWS; i++) yield `Black alder ${i},Alnus glutinosa\n`;
}
