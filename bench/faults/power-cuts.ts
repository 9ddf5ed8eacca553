import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type ServeOptions, type Server, tryToServe } from '../../testkit/processes/server.ts';
import { seededRandom } from '../../testkit/random/seeded.ts';
import type { Check } from '../crash/check.ts';
import { asText } from '../crash/result.ts';
import { askFor } from '../load/client.ts';
import { temporaryFolder } from '../servers/cleanup.ts';
import { TOKEN } from '../servers/service.ts';
import { noteCut } from './after-cut.ts';
import { changedProgram } from './changed-program.ts';
import { createDiskFaults, type DiskFaults, type Fault } from './disk-faults.ts';
import { createDiskImage, type DiskImage, type FileSystem, fileSystems, whyNoImages } from './disk-image.ts';
import { openTrial, type Trial } from './trial.ts';

/**
 * `node bench/faults/power-cuts.ts`: repeatedly cuts the power of the service's file system, and compares what the
 * clients were told with the store after each start. Exit code 1 when anything is wrong.
 */

const USAGE = `Usage: node bench/faults/power-cuts.ts [--mode random|nth|first|start] [--fs ext4|xfs] [--cuts 100] [--clients 64]
         [--seed N] [--control] [--help]

Needs root: the stores lie on file systems in files, which are mounted.
  --mode random  at a random moment 0.05 to 1 s after the load began
         nth     before, in the middle of, or after the Nth write or flush of any file, or of the database
         first   right after the first answer of a new store, in a folder that the service made itself
         start   before or after the Nth write, flush or open of a start: of a new store, and of one that was killed
  --cuts         for each file system; a start is cut at all of its first calls, and at some of the many that follow
  --control      with synchronous=NORMAL, which must be found wrong: only with random
`;

const IMAGE_MIB = 512;
const CUTS_OF_A_STORE = 12;

type Plan = { folder: string; fileSystem: FileSystem; cuts: number; clients: number; random: () => number };
type Place = { image: DiskImage; faults: DiskFaults; program: ServeOptions };
type Cut = (place: Place, trial: Trial, server: Server) => Promise<void>;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      mode: { type: 'string', default: 'random' },
      fs: { type: 'string', multiple: true, default: [...fileSystems] },
      cuts: { type: 'string', default: '100' },
      clients: { type: 'string', default: '64' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      control: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const run = modes[values.mode];
  const [cuts, clients, seed] = [values.cuts, values.clients, values.seed].map(Number);
  const chosen = fileSystems.filter((name) => values.fs.includes(name));
  if (values.help || !run || !cuts || !clients || seed === undefined || Number.isNaN(seed) || !chosen[0]) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  const reason = whyNoImages();
  if (reason !== undefined) {
    process.stderr.write(`error: ${reason}\n`);
    return 1;
  }
  process.stderr.write(`seed ${seed}\n`);
  const random = seededRandom(seed);
  let isSound = true;
  for (const fileSystem of chosen) {
    const { path: folder } = temporaryFolder();
    const program = values.control ? changedProgram(folder, SYNCHRONOUS_NORMAL) : {};
    const checks = await run({ folder, fileSystem, cuts, clients, random }, program);
    process.stdout.write(`${fileSystem}, ${values.mode}\n${asText(summed(checks))}\n`);
    isSound &&= checks.every(({ violations }) => violations.length === 0);
  }
  return isSound ? 0 : 1;
}

const SYNCHRONOUS_NORMAL = {
  file: 'src/store/sqlite/engine/connection.ts',
  from: 'PRAGMA synchronous = FULL',
  to: 'PRAGMA synchronous = NORMAL',
};

const modes: Readonly<Record<string, (plan: Plan, program: ServeOptions) => Promise<Check[]>>> = {
  random: (plan, program) => underLoad(plan, program, () => cutAtRandom(plan.random)),
  nth: (plan, program) => underLoad(plan, program, cutAtNth),
  first: (plan) => repeated(plan, cutAfterFirst),
  start: (plan) => cutStarts(plan),
};

/** Several stores, each with several cuts. */
async function underLoad(plan: Plan, program: ServeOptions, cutOf: (n: number) => Cut): Promise<Check[]> {
  const checks: Check[] = [];
  for (let n = 0; n < plan.cuts; n += CUTS_OF_A_STORE) {
    const cuts = Array.from({ length: Math.min(CUTS_OF_A_STORE, plan.cuts - n) }, (_, i) => cutOf(n + i));
    checks.push(...(await oneStore(plan, program, cuts)));
    process.stderr.write(`${plan.fileSystem}: ${n + cuts.length} cuts, ${wrongIn(checks)} violations\n`);
  }
  return checks;
}

async function oneStore({ folder, fileSystem, clients, random }: Plan, program: ServeOptions, cuts: Cut[]) {
  const image = createDiskImage({ folder, fileSystem, mebibytes: IMAGE_MIB });
  const faults = createDiskFaults(folder);
  const trial = await openTrial({ dataDir: `${image.mount}/data`, random, faults });
  const place = { image, faults, program };
  try {
    let server = await trial.restart(program);
    for (const cut of cuts) {
      const load = trial.load(clients);
      await cut(place, trial, server);
      const takeBack = noteCut(trial.ledger);
      faults.disarm();
      await sleep(WITHOUT_POWER_MS);
      await server.kill();
      await load.stop();
      takeBack();
      await image.powerUp();
      server = await trial.mustStart(program);
      await trial.retry();
    }
    return await trial.settle();
  } catch (error) {
    return [{ name: 'every start and every store', count: 1, violations: [String(error)] }];
  } finally {
    await trial.close();
    await image.dispose();
  }
}

/** Long enough for the service to notice the end of its disk. */
const WITHOUT_POWER_MS = 60;

function cutAtRandom(random: () => number): Cut {
  return async ({ image }) => {
    await sleep(50 + random() * 950);
    image.cut();
  };
}

const targets: readonly Pick<Fault, 'op' | 'file' | 'action'>[] = [
  ...(['cutBefore', 'cutMid', 'cutAfter'] as const).flatMap((action) => [
    { op: 'write', action } as const,
    { op: 'write', file: 'database', action } as const,
  ]),
  ...(['cutBefore', 'cutAfter'] as const).flatMap((action) => [
    { op: 'fsync', action } as const,
    { op: 'fsync', file: 'database', action } as const,
  ]),
];

/** Checkpoints come after some seconds. */
const PATIENCE_MS = 10_000;

function cutAtNth(n: number): Cut {
  const target = targets[n % targets.length];
  const isRare = target?.op === 'fsync' && target.file === 'database';
  const nth = isRare ? 1 + (Math.floor(n / targets.length) % 2) : 1 + Math.floor(n / targets.length);
  return async ({ image, faults }) => {
    if (target === undefined) throw new Error('no target');
    await sleep(60);
    faults.arm({ ...target, nth });
    for (let waited = 0; faults.fired() === 0 && waited < PATIENCE_MS; waited += 3) await sleep(3);
    if (faults.fired() === 0) {
      process.stderr.write(`no ${nth}th ${target.op} of ${target.file ?? 'any file'}\n`);
      image.cut();
    }
  };
}

async function repeated(
  plan: Plan,
  round: (image: DiskImage, plan: Plan) => Promise<string[]>,
): Promise<Check[]> {
  const violations: string[] = [];
  for (let n = 0; n < plan.cuts; n++) {
    const { folder, fileSystem } = plan;
    const image = createDiskImage({ folder, fileSystem, mebibytes: IMAGE_MIB });
    violations.push(...(await round(image, plan)));
    await image.dispose();
  }
  return [{ name: 'the first plant exists', count: plan.cuts, violations }];
}

const ENV = { BOOTSTRAP_TOKEN: TOKEN };

async function cutAfterFirst(image: DiskImage): Promise<string[]> {
  const dataDir = `${image.mount}/made/by/the service`;
  const first = await tryToServe(dataDir, { env: ENV });
  if (!('url' in first)) return [`does not start: ${first.stderr}`];
  await askFor(`${first.url}/plants`, { method: 'POST', body: '{"name":"Alder"}' });
  image.cut();
  await first.kill();
  await image.powerUp();
  return holds(dataDir, ['Alder']);
}

/** A start after the cut, which must have these plants and accept one more. */
async function holds(dataDir: string, names: readonly string[]): Promise<string[]> {
  const server = await tryToServe(dataDir, { env: ENV });
  if (!('url' in server)) return [`does not start: ${server.stderr}`];
  try {
    const listed = (await askFor(`${server.url}/plants?fields=name`)).body;
    const expected = JSON.stringify(names.map((name) => ({ name })));
    await askFor(`${server.url}/plants`, { method: 'POST', body: '{"name":"Birch"}' });
    return listed === expected ? [] : [`${listed} in place of ${expected}`];
  } catch (error) {
    return [String(error)];
  } finally {
    await server.kill();
  }
}

async function cutStarts(plan: Plan): Promise<Check[]> {
  const violations: string[] = [];
  let count = 0;
  for (const isNew of [true, false])
    for (const op of ['write', 'fsync', 'open', 'ftruncate'] as const)
      for (const action of ['cutBefore', 'cutAfter'] as const) {
        for (let nth = 1; ; nth += 1 + Math.floor(nth / 8)) {
          const outcome = await cutStart(plan, { op, action, nth }, isNew);
          if (outcome === undefined) break;
          count++;
          const where = `${isNew ? 'new' : 'killed'}, ${action} of ${op} ${nth}`;
          violations.push(...outcome.map((text) => `${where}: ${text}`));
        }
        process.stderr.write(`${plan.fileSystem}: ${count} starts cut, ${violations.length} violations\n`);
      }
  return [{ name: 'after an interrupted start, the next one has everything', count, violations }];
}

/** Undefined when the start makes fewer such calls. */
async function cutStart({ folder, fileSystem }: Plan, fault: Fault, isNew: boolean) {
  const image = createDiskImage({ folder, fileSystem, mebibytes: IMAGE_MIB });
  const faults = createDiskFaults(folder);
  const dataDir = `${image.mount}/data`;
  try {
    if (!isNew) await killedAfterOne(dataDir);
    faults.arm(fault);
    const cut = await tryToServe(dataDir, { env: { ...ENV, ...faults.env(dataDir) } });
    if ('url' in cut) await cut.kill();
    if (faults.fired() === 0) return undefined;
    await image.powerUp();
    return await holds(dataDir, isNew ? [] : ['Alder']);
  } finally {
    await image.dispose();
  }
}

async function killedAfterOne(dataDir: string): Promise<void> {
  const server = await tryToServe(dataDir, { env: ENV });
  if (!('url' in server)) throw new Error(server.stderr);
  await askFor(`${server.url}/plants`, { method: 'POST', body: '{"name":"Alder"}' });
  await server.kill();
}

function wrongIn(checks: readonly Check[]): number {
  return checks.reduce((sum, { violations }) => sum + violations.length, 0);
}

/** Merges the checks of all stores. */
function summed(checks: readonly Check[]): Check[] {
  return [...Map.groupBy(checks, ({ name }) => name)].map(([name, same]) => ({
    name,
    count: same.reduce((sum, { count }) => sum + count, 0),
    violations: same.flatMap(({ violations }) => violations),
  }));
}

process.exitCode = await main();
