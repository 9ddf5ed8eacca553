import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Page } from 'playwright-core';
import { freePort } from '../sockets/free-port.ts';
import { openShell, type Place, type Serving, startServing } from './shell.ts';

/** Somebody who pastes the blocks of a page: the first starts the service, the others go into a second terminal. */
export type Newcomer = {
  service: Serving;
  /** The port of the receiver, which replaces 4000. */
  port: number;
  /** Pastes a block, and returns its standard output. */
  paste(block: string): Promise<string>;
  /** Waits until the receiver has verified this many requests, and returns what it says. */
  verified(count: number): Promise<string>;
  stop(): Promise<void>;
};

const ROOT = join(import.meta.dirname, '..', '..');
/** Longer than anything takes on a busy machine. */
const PATIENCE_MS = 30_000;

/** The shell commands of a page. */
export function blocksOf(page: string): string[] {
  return [...page.matchAll(/^```bash\n(.*?)^```/gms)].map(([, text = '']) => text);
}

/** The part of a clone that is needed after `npm ci`, with an empty home in it. */
export function copyProject(): Place & { remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-newcomer-'));
  for (const name of ['bin', 'src', 'packages', 'examples', 'build/console', 'package.json', '.npmrc']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const home = join(folder, 'home');
  mkdirSync(home);
  return { folder, env: environmentAt(home), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Without what the npm that runs this program adds to the path: its Node. */
export function environmentAt(home: string): Record<string, string> {
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => !entry.includes('node_modules'));
  return { PATH: path.join(delimiter), HOME: home, PORT: '0' };
}

export async function startNewcomer(start: string, place: Place): Promise<Newcomer> {
  const service = await startServing(start, place);
  const shell = openShell(place);
  const port = await freePort();
  const fill = (text: string) =>
    text
      // First: the service's own port may contain it.
      .replaceAll('4000', String(port))
      .replaceAll('http://127.0.0.1:3000', service.url)
      .replaceAll('pst_…', service.token);
  const receiver = join(place.folder, 'examples', 'receiver.mjs');
  writeFileSync(receiver, fill(readFileSync(receiver, 'utf8')));
  return {
    service,
    port,
    paste: (block) => shell.paste(fill(block)),
    verified: (count) => untilVerified(join(place.folder, 'receiver.log'), count),
    async stop() {
      await shell.stop();
      await service.stop();
    },
  };
}

async function untilVerified(log: string, count: number): Promise<string> {
  const verified = () => readFileSync(log, 'utf8').match(/^verified /gm)?.length ?? 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const check = () => verified() >= count && resolve();
  const watcher = watch(log, check);
  const late = setTimeout(() => reject(new Error(`${verified()} of ${count} are verified.`)), PATIENCE_MS);
  try {
    check();
    await promise;
  } finally {
    clearTimeout(late);
    watcher.close();
  }
  return readFileSync(log, 'utf8');
}

/** Goes to another page of the console. */
export async function turnTo(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name }).click();
}

/** Adds a plant in the console, with the fields by their labels. */
export async function addPlant(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  await turnTo(page, 'Plants');
  await page.getByRole('button', { name: 'Add a plant' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a plant' });
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value);
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}
