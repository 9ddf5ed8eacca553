import { existsSync, mkdirSync, realpathSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { servingLock } from '../../config/config.ts';
import { silentLog, systemRuntime } from '../../runtime.ts';
import { isServed } from '../../store/sqlite/files/lock.ts';
import { giveToOwnerOf, type Restored, restoreStore } from '../../store/sqlite/files/restore.ts';
import { DamagedStore } from '../../store/sqlite/files/whole-store.ts';
import { Failure } from '../failure.ts';
import { showWholeProgress } from '../terminal/progress.ts';
import { counted, insist, printJson, say, shellWord } from '../terminal/terminal.ts';
import { argument, option, parseFile, settingOption, type Verb } from '../verb.ts';
import {
  type EmbeddedStore,
  embeddedStore,
  fileFailure,
  lockAgainstServers,
  onFiles,
} from './embedded-store.ts';
import { inUnfinishedStore } from './interruptible-store.ts';
import { onStore, type StoreFlags } from './store.ts';
import { storeFailure } from './store-failure.ts';

type RestoreFlags = StoreFlags & { json?: true };

export const verb: Verb = {
  arguments: [argument('<file>', 'the backup to restore', parseFile)],
  options: [
    settingOption('dataDir'),
    option('--json', 'print JSON: {path, before, plants, waiting, revived}'),
  ],
  examples: [
    'restore plants.backup',
    'restore /backup/plants-2026-11-21.backup --data-dir /var/lib/plant-store',
  ],
  notes: `Replaces the data folder's store with a backup, or creates it in a folder without one. No service may run on it. The backup
is copied and checked before it replaces anything, and the previous store is kept beside it under another name. If the
restore is interrupted, the folder contains one complete store, the old or the new.

Everything is as it was when the backup was written. Deliveries that were waiting then are sent at the next start, again
if they have been sent since. Tokens revoked or rotated since work again; they are listed.`,
  run,
};

async function run(flags: RestoreFlags, file: string): Promise<void> {
  const store = embeddedStore(flags, 'restore');
  const from = resolve(file);
  refuseSource(from, store);
  const restored = await inFolder(store, () => replace(from, store));
  const { before, plants, waiting, revived } = restored;
  if (flags.json) {
    const told = { path: store.path, before: before ?? null, plants, waiting, revived: revived ?? null };
    printJson(told);
  } else tell(from, restored, store);
  warn(restored, store);
}

async function replace(from: string, { path }: EmbeddedStore): Promise<Restored> {
  using report = showWholeProgress(statSync(from).size);
  const now = systemRuntime(silentLog).clock.now();
  try {
    return await inUnfinishedStore(`${path}.restoring-`, report, (unfinished) =>
      restoreStore({ from, path, unfinished, now, report }),
    );
  } catch (error) {
    throw asItWas(error, from, path);
  }
}

function asItWas(error: unknown, from: string, path: string): unknown {
  const kept = existsSync(path) ? 'the store is unchanged' : 'there is still no store';
  if (error instanceof DamagedStore) {
    return new Failure(`The backup ${from} is damaged, and ${kept}: ${error.message} Use another one.`, {
      cause: error,
    });
  }
  const failure = fileFailure(error, `${from} cannot be restored, and ${kept}`);
  // The checks write whole sentences.
  if (failure === error && error instanceof Error && error.constructor === Error) {
    return new Failure(`${from} cannot be restored, and ${kept}. ${error.message}`, { cause: error });
  }
  return failure;
}

function refuseSource(from: string, { path }: EmbeddedStore): void {
  const there = onFiles(`${from} cannot be read`, () => statSync(from, { throwIfNoEntry: false }));
  if (there === undefined) throw new Failure(`There is no file ${from}.`);
  if (!there.isFile()) throw new Failure(`${from} is not a file. Choose one that plant-store backup wrote.`);
  const store = statSync(path, { throwIfNoEntry: false });
  if (store && there.dev === store.dev && there.ino === store.ino) {
    throw new Failure(`${from} is the store itself. Choose a file that plant-store backup wrote.`);
  }
  refuseServed(from, basename(path));
}

/** A server may write while the file is copied. */
function refuseServed(from: string, storeName: string): void {
  const real = realpathSync(from);
  const folder = dirname(real);
  if (basename(real) !== storeName) return;
  const isBusy = onFiles(`Checking for a server on ${folder} failed`, () => isServed(servingLock(folder)));
  if (!isBusy) return;
  throw new Failure(
    `A server is running on ${from}. Back it up instead: plant-store backup FILE --data-dir ${shellWord(folder)}`,
  );
}

/** Does the work in the data folder while no server can start there. On failure, removes what it created. */
async function inFolder<T>({ dataDir }: EmbeddedStore, work: () => Promise<T>): Promise<T> {
  const made = makeFolder(dataDir);
  const lockPath = servingLock(dataDir);
  const isNew = !existsSync(lockPath);
  try {
    const refusal = `A server, or another restore or copy, is running on the data folder ${dataDir}. Stop the server, or wait.`;
    using _lock = lockAgainstServers(dataDir, refusal);
    try {
      // At once: even after a failed restore the service must be able to take the lock.
      onFiles(`The data folder ${dataDir} cannot be used`, () => giveToOwnerOf(dataDir, [lockPath]));
      return await work();
    } catch (error) {
      if (isNew) rmSync(lockPath, { force: true });
      throw error;
    }
  } catch (error) {
    for (const folder of made) removeEmpty(folder);
    throw error;
  }
}

/** Keeps a folder into which something else was put meanwhile. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {}
}

/** Creates the folder and its parents. Returns the new ones, the innermost first. */
function makeFolder(dataDir: string): string[] {
  try {
    const made = mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    if (made === undefined) return [];
    const first = resolve(made);
    const folders: string[] = [];
    for (let folder = resolve(dataDir); folder.length >= first.length; folder = dirname(folder)) {
      folders.push(folder);
    }
    giveToOwnerOf(dirname(first), folders);
    return folders;
  } catch (error) {
    throw storeFailure(error, dataDir);
  }
}

function tell(from: string, { plants, before, isReadable }: Restored, store: EmbeddedStore): void {
  const start = `plant-store serve${onStore(store)}`;
  say(`Restored ${counted(plants, 'plant')} from ${from}. To start the service: ${start}`);
  if (before === undefined) return;
  say(`The previous store is kept, including its secrets: ${before}`);
  const back = `To go back to it: plant-store restore ${shellWord(before)}${onStore(store)}. When`;
  say(
    `${isReadable ? back : 'This version cannot read it: it is damaged, or of a newer version. When'} you no longer need it, delete it.`,
  );
}

/** Consequences that nobody would notice later. */
function warn({ before, waiting, revived }: Restored, store: EmbeddedStore): void {
  if (waiting > 0) {
    say(
      `warning: Deliveries waiting when the backup was written: ${waiting}. They are sent when the service starts, ` +
        'again if they have been sent since, with the same webhook-id.',
    );
  }
  if (revived === undefined) {
    // Restoring into an empty folder may be only a test.
    const unknown =
      'warning: tokens revoked or rotated since the backup now work again; which ones cannot be determined. ' +
      `To list all tokens: plant-store token list${onStore(store)}`;
    if (before === undefined) say(unknown);
    else insist(unknown);
    return;
  }
  if (revived.length === 0) return;
  insist('warning: these tokens were revoked, rotated or deleted since the backup and now work again:');
  for (const { id, user, label } of revived) {
    insist(`  ${id} of ${user}${label === '' ? '' : ` (${label})`}`);
  }
  insist(`To revoke one: plant-store token revoke ID${onStore(store)}`);
}
