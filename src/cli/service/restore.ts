import { existsSync, mkdirSync, realpathSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { silentLog, systemRuntime } from '../../runtime.ts';
import { isServed } from '../../store/sqlite/deliveries/glance.ts';
import { giveToOwnerOf, type Restored, restoreStore } from '../../store/sqlite/files/restore.ts';
import { DamagedStore } from '../../store/sqlite/files/whole-store.ts';
import { Failure } from '../failure.ts';
import { insist, printJson, say, shellWord } from '../terminal/terminal.ts';
import { argument, option, settingOption, type Verb } from '../verb.ts';
import { type EmbeddedStore, embeddedStore, fileFailure, lockAgainstServers } from './embedded-store.ts';
import type { StoreFlags } from './store.ts';
import { showWholeProgress } from './whole-progress.ts';

type RestoreFlags = StoreFlags & { json?: true };

export const verb: Verb = {
  arguments: [argument('<file>', 'what backup wrote')],
  options: [
    settingOption('dataDir'),
    option('--json', 'print JSON: {path, before, plants, waiting, revived}'),
  ],
  examples: [
    'restore plants.backup',
    'restore /backup/plants-2026-11-21.backup --data-dir /var/lib/plant-store',
  ],
  notes: `Puts a backup in place of the store in the data folder, or into a folder without one. No service may run on it. The
backup is copied and checked before anything is replaced, and the store that was there is kept beside it under another
name. Whenever this is broken off, the folder has the one or the other, whole.

Everything is as it was when the backup was made. Deliveries that waited then are sent at the next start, those that
went out since once more; tokens that were revoked or rotated since are good again, and are named.`,
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
  } else tell(from, restored);
  warn(restored);
}

async function replace(from: string, { path }: EmbeddedStore): Promise<Restored> {
  const report = showWholeProgress(statSync(from).size);
  const now = systemRuntime(silentLog).clock.now();
  try {
    return await restoreStore({ from, path, now, report });
  } catch (error) {
    throw asItWas(error, from, path);
  } finally {
    report.end();
  }
}

function asItWas(error: unknown, from: string, path: string): unknown {
  const kept = existsSync(path) ? 'the store is as it was' : 'there is no store as before';
  if (error instanceof DamagedStore) {
    return new Failure(`The backup ${from} is damaged, and ${kept}: ${error.message} Take another one.`, {
      cause: error,
    });
  }
  const failure = fileFailure(error, `${from} cannot be restored, and ${kept}`);
  // What the checks say of it is a sentence of its own.
  if (failure === error && error instanceof Error && error.constructor === Error) {
    return new Failure(`${from} cannot be restored, and ${kept}. ${error.message}`, { cause: error });
  }
  return failure;
}

function refuseSource(from: string, { path }: EmbeddedStore): void {
  const there = statSync(from, { throwIfNoEntry: false });
  if (there === undefined) throw new Failure(`There is no file ${from}.`);
  if (!there.isFile()) throw new Failure(`${from} is no file. Name the file that plant-store backup wrote.`);
  const store = statSync(path, { throwIfNoEntry: false });
  if (store && there.dev === store.dev && there.ino === store.ino) {
    throw new Failure(`${from} is the store itself. Name the file that plant-store backup wrote.`);
  }
  refuseServed(from, basename(path));
}

/** What a server writes meanwhile would be in the copy in part. */
function refuseServed(from: string, storeName: string): void {
  const real = realpathSync(from);
  const folder = dirname(real);
  if (basename(real) !== storeName || !isServedFolder(folder)) return;
  throw new Failure(
    `A server runs on ${from}. Make a backup of it instead: plant-store backup FILE --data-dir ${shellWord(folder)}`,
  );
}

function isServedFolder(folder: string): boolean {
  try {
    return isServed(join(folder, 'serving.lock'));
  } catch (error) {
    throw fileFailure(error, `Whether a server runs on ${folder} cannot be told`);
  }
}

/** Does the work in the data folder, away from servers. When it fails, nothing is there that was not there before. */
async function inFolder<T>(store: EmbeddedStore, work: () => Promise<T>): Promise<T> {
  const made = makeFolder(store);
  const lockPath = join(store.dataDir, 'serving.lock');
  const isNew = !existsSync(lockPath);
  try {
    const unlock = lockFolder(store, lockPath);
    try {
      return await work();
    } catch (error) {
      if (isNew) rmSync(lockPath, { force: true });
      throw error;
    } finally {
      unlock();
    }
  } catch (error) {
    for (const folder of made.toReversed()) removeEmpty(folder);
    throw error;
  }
}

/** Somebody else may have put something there meanwhile. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {}
}

/** Gives the folders that were not there, the outer one first. */
function makeFolder({ dataDir }: EmbeddedStore): string[] {
  try {
    const made = mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    if (made === undefined) return [];
    const first = resolve(made);
    const folders = foldersBetween(first, resolve(dataDir));
    giveToOwnerOf(dirname(first), folders);
    return folders;
  } catch (error) {
    throw fileFailure(error, `The data folder ${dataDir} cannot be made`);
  }
}

/** Both and what is between them, the outer one first. */
function foldersBetween(outer: string, inner: string): string[] {
  const folders = [outer];
  for (const name of relative(outer, inner).split(sep).filter(Boolean)) {
    folders.push(join(folders.at(-1) ?? outer, name));
  }
  return folders;
}

function lockFolder(store: EmbeddedStore, lockPath: string): () => void {
  try {
    const unlock = lockAgainstServers(store);
    // At once: whatever becomes of the restore, the service must be able to take it.
    giveToOwnerOf(store.dataDir, [lockPath]);
    return unlock;
  } catch (error) {
    throw fileFailure(error, `The data folder ${store.dataDir} cannot be used`);
  }
}

function tell(from: string, { plants, before, isReadable }: Restored): void {
  say(`Restored ${plants} plants from ${from}. To go on: plant-store serve`);
  if (before === undefined) return;
  say(`The store that was there is kept, secrets and all: ${before}`);
  const back = `To go back to it: plant-store restore ${shellWord(before)}; when`;
  say(`${isReadable ? back : 'It cannot be read. When'} it is not needed any more, delete it.`);
}

/** What happens by itself from now on, and nobody would see later. */
function warn({ before, waiting, revived }: Restored): void {
  if (waiting > 0) {
    say(
      `warning: ${waiting} deliveries waited when the backup was made. They are sent when the service starts, ` +
        'those that went out since once more, with the same webhook-id.',
    );
  }
  if (revived === undefined) {
    // Into an empty folder a backup is also restored only to try it.
    if (before === undefined) say(UNKNOWN_TOKENS);
    else insist(UNKNOWN_TOKENS);
    return;
  }
  if (revived.length === 0) return;
  insist('warning: these tokens were revoked, rotated or deleted since the backup, and are good as before:');
  for (const { id, user, label } of revived) {
    insist(`  ${id} of ${user}${label === '' ? '' : ` (${label})`}`);
  }
  insist('To end one: plant-store token revoke ID');
}

const UNKNOWN_TOKENS =
  'warning: which tokens were revoked or rotated since the backup cannot be told, and they are good again. ' +
  'See which there are: plant-store token list';
