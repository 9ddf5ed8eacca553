import { copyFile, cp, mkdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { storePath } from '../../src/config/config.ts';
import type { Outcome } from '../../testkit/processes/program.ts';
import type { Server } from '../../testkit/processes/server.ts';
import type { Entry } from '../crash/ledger.ts';
import { ask } from '../load/client.ts';
import { openTrial, type Trial } from './trial.ts';

/** A store that is deleted, moved, replaced, cut or emptied, while the service runs and before it starts. */

export type Way = {
  name: string;
  act(path: string): Promise<void>;
  /** Brings back what was moved. */
  undo?(path: string): Promise<void>;
};

const log = (path: string) => `${path}-wal`;
const index = (path: string) => `${path}-shm`;
const halve = async (file: string) => truncate(file, Math.floor((await stat(file)).size / 2));

async function replaceByCopy(file: string): Promise<void> {
  await cp(file, `${file}-copy`, { recursive: true });
  await rm(file, { recursive: true });
  await rename(`${file}-copy`, file);
}

const aside = (of: (path: string) => string): Pick<Way, 'act' | 'undo'> => ({
  act: (path) => rename(of(path), `${of(path)}-aside`),
  async undo(path) {
    await rm(of(path), { recursive: true, force: true });
    await rename(`${of(path)}-aside`, of(path));
  },
});

const self = (path: string) => path;

export const ways: readonly Way[] = [
  { name: 'folder deleted', act: (path) => rm(dirname(path), { recursive: true }) },
  { name: 'folder moved', ...aside(dirname) },
  {
    name: 'folder replaced by an empty one',
    async act(path) {
      await rename(dirname(path), `${dirname(path)}-aside`);
      await mkdir(dirname(path));
    },
  },
  { name: 'folder replaced by a copy', act: (path) => replaceByCopy(dirname(path)) },
  { name: 'everything in the folder deleted', act: (path) => emptyFolder(dirname(path)) },
  { name: 'database deleted', act: (path) => rm(path) },
  { name: 'database moved', ...aside(self) },
  { name: 'database emptied', act: (path) => truncate(path) },
  { name: 'database cut', act: halve },
  { name: 'database replaced by a copy', act: replaceByCopy },
  {
    name: 'database replaced by a text',
    async act(path) {
      await rm(path);
      await writeFile(path, 'This is no database.\n'.repeat(1000));
    },
  },
  { name: 'log deleted', act: (path) => rm(log(path)) },
  { name: 'log moved', ...aside(log) },
  { name: 'log emptied', act: (path) => truncate(log(path)) },
  { name: 'log cut', act: (path) => halve(log(path)) },
  { name: 'log replaced by a copy', act: (path) => replaceByCopy(log(path)) },
  { name: 'index deleted', act: (path) => rm(index(path)) },
  { name: 'index moved', ...aside(index) },
  {
    name: 'database and log deleted',
    async act(path) {
      await rm(path);
      await rm(log(path));
    },
  },
  {
    name: 'database replaced by an older one',
    async act(path) {
      await rm(path);
      await copyFile(`${path}-older`, path);
    },
  },
];

async function emptyFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true });
  await mkdir(folder);
}

export type Found = {
  way: string;
  /** What the service said about continuing: at its end, at a refused start, or in its log. */
  said: string;
  /** Acknowledged plants missing after the next successful start. */
  lost: number;
  acknowledged: number;
  violations: string[];
};

export type When = 'running' | 'idle' | 'before a start';

export type LostOptions = { folder: string; random: () => number; way: Way; when: When };

/** How many plants are acknowledged before anything happens to the store. */
const LEAST_PLANTS = 200;
const LOOK_MS = 10;
/** Long enough for a check of the files. */
const NOTICED_MS = 4_000;

/** Damages a store, and then compares the acknowledged plants with the next start. */
export async function loseStore({ folder, random, way, when }: LostOptions): Promise<Found> {
  const dataDir = join(folder, `${way.name} ${when}`.replaceAll(' ', '-'));
  const path = storePath(dataDir);
  const trial = await openTrial({ dataDir, random });
  const found: Found = { way: `${way.name}, ${when}`, said: '', lost: 0, acknowledged: 0, violations: [] };
  try {
    await trial.running()?.stop();
    await copyFile(path, `${path}-older`);
    const server = await trial.mustStart();
    const load = trial.load(8);
    while (acknowledgedBy(trial).length < LEAST_PLANTS) await sleep(LOOK_MS);
    if (when !== 'running') await load.stop();
    if (when === 'before a start') await server.kill();
    await way.act(path);
    if (when !== 'before a start') found.said = await watch(server, trial, found);
    await load.stop();
    if (way.undo && when !== 'before a start') await comeBack(way, { path, trial, found });
    await compare(trial, found);
  } catch (error) {
    found.violations.push(`it broke off: ${error}`);
  } finally {
    found.violations.push(...trial.ledger.violations);
    await trial.close();
  }
  return found;
}

/** What the running service says about it: its last words, or by /readyz. */
async function watch(server: Server, trial: Trial, found: Found): Promise<string> {
  const end = await Promise.race([server.ended, sleep(NOTICED_MS)]);
  if (end) {
    if (end.code !== 1) found.violations.push(`ended with ${end.code ?? end.signal}: ${end.stderr}`);
    return lastLine(end);
  }
  const url = trial.running()?.url;
  const { status } = await ask(`${url}/readyz`);
  if (status === 200) found.violations.push('the service goes on as if nothing had happened');
  return `/readyz ${status}`;
}

/** Moved files are put back while the service runs, which must continue; or before its next start. */
async function comeBack(
  { undo }: Way,
  { path, trial, found }: { path: string; trial: Trial; found: Found },
): Promise<void> {
  await undo?.(path);
  if (trial.running() && !(await trial.create())) found.violations.push('does not go on when it is back');
  await trial.running()?.kill();
}

/** A service that does not report a loss must have everything that was acknowledged. */
async function compare(trial: Trial, found: Found): Promise<void> {
  await trial.running()?.kill();
  const acknowledged = acknowledgedBy(trial);
  found.acknowledged = acknowledged.length;
  const started = await trial.start();
  if (!('url' in started)) {
    found.said ||= lastLine(started);
    if (started.code !== 1) found.violations.push(`does not start: ${started.stderr}`);
    return;
  }
  const answer = await ask(`${started.url}/plants?fields=name`);
  if (answer.status !== 200) {
    found.said ||= answer.body;
    return;
  }
  // The requested member.
  const plants: { name: string }[] = JSON.parse(answer.body);
  const names = new Set(plants.map(({ name }) => name));
  found.lost = acknowledged.filter(({ name }) => !names.has(name)).length;
  const { stdout } = await started.stop();
  found.said ||= logged(stdout);
  if (found.lost > 0 && found.said === '') found.violations.push(`lost ${found.lost} plants without a word`);
}

function acknowledgedBy({ ledger }: Trial): Entry[] {
  return [...ledger.entries.values()].filter(({ state }) => state === 'acknowledged');
}

function lastLine({ stderr }: Outcome): string {
  return stderr.trimEnd().split('\n').at(-1) ?? '';
}

/** What the log says about the store: that it was created, or what is wrong with it. */
function logged(stdout: string): string {
  const messages = stdout.split('\n').flatMap((line) => {
    if (line === '') return [];
    // A line of the log is a pino object.
    const { msg } = JSON.parse(line) as { msg: string };
    return /store|plant-store\.db/.test(msg) ? [msg] : [];
  });
  return messages.join(' ');
}
