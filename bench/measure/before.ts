import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '../servers/server.ts';
import { startService } from '../servers/service.ts';
import { ratios, type Sample } from './compare.ts';
import type { Figure } from './report.ts';
import type { Bench } from './section.ts';

/** The version before (`--before`), measured in turn with this one: nothing else shows what a change costs. */

/** The same program differs by a few percent from start to start. */
const NO_SLOWER = { atLeast: 0.95 };

/** Starts it on its own store, which `fill` fills; undefined when none is given. */
export async function startBefore(
  { before, folder }: Bench,
  name: string,
  fill?: (dataDir: string) => void,
): Promise<Server | undefined> {
  if (before === undefined) return undefined;
  const dataDir = join(folder, `${name}-before`);
  mkdirSync(dataDir);
  if (fill) {
    // The service creates the schema and the user.
    await (await startService({ dataDir, root: before })).stop();
    fill(dataDir);
  }
  return startService({ dataDir, root: before });
}

/** Rates and CPU times of `<section>: service` against `<section>: version before`; empty without that. */
export function againstBefore(loads: Map<string, Sample[]>, section: string): Figure[] {
  const pair: [string, string] = [`${section}: service`, `${section}: version before`];
  if (!loads.has(pair[1])) return [];
  return [
    {
      name: `${section}: rate against the version before`,
      unit: '×',
      values: ratios(loads, pair),
      target: NO_SLOWER,
    },
    {
      name: `${section}: service CPU per answer, against the version before`,
      unit: '×',
      values: ratios(loads, pair, ({ cpuPerAnswer }) => cpuPerAnswer),
    },
  ];
}
