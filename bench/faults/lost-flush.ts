import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { ServeOptions, Server } from '../../testkit/processes/server.ts';
import { seededRandom } from '../../testkit/random/seeded.ts';
import type { Check } from '../crash/check.ts';
import { create } from '../crash/clients.ts';
import { enter } from '../crash/ledger.ts';
import { asText } from '../crash/result.ts';
import { atEnd, temporaryFolder } from '../servers/cleanup.ts';
import { noteCut } from './after-cut.ts';
import { changedProgram } from './changed-program.ts';
import { createDiskFaults } from './disk-faults.ts';
import { createDiskImage, type DiskImage, unmount, whyNoImages } from './disk-image.ts';
import { openTrial, type Trial } from './trial.ts';

/**
 * `node bench/faults/lost-flush.ts`: a device loses writes, so that a flush fails and the service ends; the device
 * works again, the service is restarted and acknowledges more; then the power is cut. Exit code 1 when anything was
 * lost.
 */

const USAGE = `Usage: node bench/faults/lost-flush.ts [--rounds 20] [--at log|checkpoint] [--seed N] [--control] [--help]

Needs root. XFS, since ext4 becomes read-only when a write fails.
  --at log         the power is cut after 10 more creates
       checkpoint  in a store that has lived, right after the next time that the log was copied into the database
  --control        with a start that does not write the log again, which must be found wrong
`;

/** The smallest size that XFS accepts, and the additional room on the device. */
const IMAGE_MIB = 320;
const SPARE_MIB = 16;
const CLIENTS = 32;
/** Concurrent requests: a failed page at the end of the log is written again with the next commit. */
const LARGE_COMMIT = 64;
/** Few, so that the log does not restart, which would overwrite its hole. */
const BEFORE = 5;
const AFTERWARDS = 10;
const END_MS = 20_000;

type Plan = { at: 'log' | 'checkpoint'; random: () => number; program: ServeOptions };

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '20' },
      at: { type: 'string', default: 'log' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      control: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const [rounds, seed] = [values.rounds, values.seed].map(Number);
  const { at } = values;
  if (values.help || !rounds || seed === undefined || Number.isNaN(seed) || !isPlace(at)) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  const reason = whyNoImages();
  if (reason !== undefined) {
    process.stderr.write(`error: ${reason}\n`);
    return 1;
  }
  const program = values.control ? changedProgram(temporaryFolder().path, LOG_AS_IT_IS) : {};
  const random = seededRandom(seed);
  process.stderr.write(`seed ${seed}\n`);
  let wrong = 0;
  for (let n = 1; n <= rounds; n++) {
    const checks = await round({ at, random, program });
    const failed = checks.filter(({ violations }) => violations.length > 0);
    if (failed.length > 0) wrong++;
    process.stdout.write(`round ${n}: ${failed.length > 0 ? `\n${asText(failed)}` : 'holds'}\n`);
  }
  process.stdout.write(`${rounds} rounds, power cut after a failed flush (${at}): ${wrong} with losses\n`);
  return wrong === 0 ? 0 : 1;
}

function isPlace(text: string): text is Plan['at'] {
  return text === 'log' || text === 'checkpoint';
}

const LOG_AS_IT_IS = {
  file: 'src/store/sqlite/files/durable-log.ts',
  from: '      rewrite(log);\n',
  to: '',
};

async function round(plan: Plan): Promise<Check[]> {
  const { path: folder } = temporaryFolder();
  const device = createDevice(folder);
  const faults = createDiskFaults(folder);
  const { image } = device;
  const trial = await openTrial({ dataDir: `${image.mount}/data`, random: plan.random, faults });
  try {
    let server = await trial.restart(plan.program);
    if (plan.at === 'checkpoint') {
      await loadFor(trial, 2_500);
      server = await trial.restart(plan.program);
    }
    await createMany(server, trial, BEFORE);
    device.fail();
    await createUntilEnd(server, trial);
    device.mend();
    server = await trial.mustStart(plan.program);
    await createMany(server, trial, AFTERWARDS);
    const load = plan.at === 'checkpoint' ? trial.load(CLIENTS) : undefined;
    if (load) faults.arm({ op: 'fsync', file: 'database', action: 'cutAfter' });
    while (load && faults.fired() === 0) {
      const end = await Promise.race([server.ended, sleep(3)]);
      if (end) throw new Error(`The service ended by itself:\n${end.stdout}${end.stderr}`);
    }
    if (!load) image.cut();
    const takeBack = noteCut(trial.ledger);
    faults.disarm();
    await server.kill();
    await load?.stop();
    takeBack();
    await image.powerUp();
    await trial.mustStart(plan.program);
    await trial.retry();
    return await trial.settle();
  } catch (error) {
    return [{ name: 'starts and ends', count: 1, violations: [String(error)] }];
  } finally {
    await trial.close();
    await device.dispose();
  }
}

async function loadFor(trial: Trial, milliseconds: number): Promise<void> {
  const load = trial.load(CLIENTS);
  await sleep(milliseconds);
  await load.stop();
}

/** One after the other. */
async function createMany({ url }: Server, { ledger }: Trial, count: number): Promise<void> {
  for (let n = 0; n < count; n++)
    await create(enter(ledger, { chosen: true, tagged: true }), { url, ledger });
}

async function createUntilEnd({ url, ended }: Server, { ledger }: Trial): Promise<void> {
  const signal = AbortSignal.timeout(END_MS);
  for (let isAcknowledged = true; isAcknowledged; signal.throwIfAborted()) {
    const entries = Array.from({ length: LARGE_COMMIT }, () => enter(ledger, { chosen: true, tagged: true }));
    await Promise.all(entries.map((entry) => create(entry, { url, ledger })));
    isAcknowledged = entries.every(({ state }) => state === 'acknowledged');
  }
  const { code } = await ended;
  if (code !== 1) throw new Error(`The service ended with ${code} when its disk failed`);
}

type Device = {
  image: DiskImage;
  /** From now on, writes to unallocated blocks fail. */
  fail(): void;
  mend(): void;
  dispose(): Promise<void>;
};

/**
 * The file below the file system is on a full tmpfs, with holes where the file system has free blocks: writes there
 * find no room.
 */
function createDevice(folder: string): Device {
  const low = join(folder, 'device');
  const ballast = join(low, 'ballast');
  mkdirSync(low);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${IMAGE_MIB + SPARE_MIB}m`, 'tmpfs', low]);
  const forget = atEnd(() => spawnSync('umount', ['--lazy', low]));
  const image = createDiskImage({ folder: low, fileSystem: 'xfs', mebibytes: IMAGE_MIB, isDense: true });
  return {
    image,
    fail() {
      execFileSync('sync', ['-f', image.mount]);
      for (const { from, length } of freeBlocks(image.mount)) {
        execFileSync('fallocate', ['-p', '-o', `${from}`, '-l', `${length}`, join(low, 'image')]);
      }
      fill(ballast);
    },
    mend: () => rmSync(ballast),
    async dispose() {
      await image.dispose();
      await unmount(low);
      forget();
    },
  };
}

const SECTOR = 512;

function freeBlocks(mount: string): { from: number; length: number }[] {
  const map = execFileSync('xfs_io', ['-c', 'fsmap', mount], { encoding: 'utf8' });
  return [...map.matchAll(/\[(\d+)\.\.(\d+)\]: free space/g)].map(([, first, last]) => ({
    from: Number(first) * SECTOR,
    length: (Number(last) - Number(first) + 1) * SECTOR,
  }));
}

function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (;;) writeSync(file, Buffer.alloc(4096));
  } catch {
    // It is full.
  } finally {
    closeSync(file);
  }
}

process.exitCode = await main();
