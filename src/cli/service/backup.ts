import { accessSync, existsSync, constants as files, lstatSync, realpathSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { servingLock } from '../../config/config.ts';
import { lowerPriority } from '../../runtime.ts';
import { openConnection, refuseLostDatabase } from '../../store/sqlite/engine/connection.ts';
import { isDamage, sqliteCode } from '../../store/sqlite/engine/failure.ts';
import { refuseCutStore } from '../../store/sqlite/engine/size-record.ts';
import { backUp } from '../../store/sqlite/files/backup.ts';
import { fileSize } from '../../store/sqlite/files/durable-files.ts';
import { storeSchema } from '../../store/sqlite/files/inspect.ts';
import { isServed } from '../../store/sqlite/files/lock.ts';
import { DamagedStore } from '../../store/sqlite/files/whole-store.ts';
import { refuseForeignLink, thereAlready } from '../atomic-file.ts';
import { Failure } from '../failure.ts';
import { showWholeProgress, sizeText } from '../terminal/progress.ts';
import { counted, printJson, say, shellWord } from '../terminal/terminal.ts';
import { argument, option, parseFile, settingOption, type Verb } from '../verb.ts';
import { type EmbeddedStore, embeddedStore, fileFailure, onFiles } from './embedded-store.ts';
import { inUnfinishedStore } from './interruptible-store.ts';
import type { StoreFlags } from './store.ts';

type BackupFlags = StoreFlags & { force?: true; json?: true };

export const verb: Verb = {
  arguments: [argument('<file>', 'the backup to write', parseFile)],
  options: [
    settingOption('dataDir'),
    option('--force', 'replace an existing file'),
    option('--json', 'print JSON: {path, bytes, plants, seconds}'),
  ],
  examples: ['backup plants.backup', 'backup /backup/plants-$(date +%F).backup --json'],
  notes: `Writes the data folder's store, as it is at one moment, to one file. A running service continues meanwhile. The file gets
its name once it is complete, on disk, read back and checked; until then an existing file stays.

The backup contains what the store contains: hashes of tokens, and the secrets of webhooks in plain text. Only its owner
can read it; keep it that way. To restore it: plant-store restore FILE.`,
  run,
};

async function run(flags: BackupFlags, file: string): Promise<void> {
  const store = embeddedStore(flags, 'backup');
  const to = onFiles(`${file} cannot be written`, () => behindLinks(resolve(file)));
  refuseStore(store);
  refuseTarget(to, store, flags);
  // The service goes first when both want the CPU.
  lowerPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const startedAt = performance.now();
  const made = await write(store, to, flags);
  const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(3));
  if (flags.json) return printJson({ path: to, ...made, seconds });
  say(
    `Backed up ${counted(made.plants, 'plant')} to ${to}: ${sizeText(made.bytes)} in ${seconds} s, checked.`,
  );
  say('It contains the secrets of webhooks and the hashes of tokens: keep it private.');
}

async function write({ path }: EmbeddedStore, to: string, { force }: BackupFlags) {
  using report = showWholeProgress(fileSize(path) + fileSize(`${path}-wal`));
  // Not named after the backup: the next one, which removes what a killed one left, may have another name.
  const prefix = join(dirname(to), 'plant-store-backup.partial-');
  try {
    const made = await inUnfinishedStore(prefix, report, (unfinished) =>
      backUp({ from: path, to, unfinished, replaces: force ?? false, report }),
    );
    if (made === undefined) throw thereAlready(to);
    return made;
  } catch (error) {
    // The copy is new, so it is damaged because the store is.
    const what =
      error instanceof DamagedStore || isDamage(error)
        ? `The store ${path} cannot be backed up`
        : `The backup cannot be written to ${dirname(to)}`;
    throw fileFailure(error, `${what}, and nothing is left of the backup`);
  }
}

/** Throws unless a readable store exists; later failures are then about the target. */
function refuseStore({ dataDir, path }: EmbeddedStore): void {
  onFiles(`The store ${path} cannot be read`, () => refuseLostDatabase(path));
  // A server changes the files and their record at different moments.
  const lock = servingLock(dataDir);
  const isBusy = onFiles(`Checking for a server on ${dataDir} failed`, () => isServed(lock));
  if (!isBusy) onFiles(`The store ${path} cannot be read`, () => refuseCutStore(path));
  if (!existsSync(path)) {
    throw new Failure(`There is no store at ${path}. Pass its folder with --data-dir.`);
  }
  // SQLite does not say why it cannot open a file.
  onFiles(`The store ${path} cannot be read`, () => accessSync(path, files.R_OK));
  try {
    finishJournal(path);
    using db = openConnection(path, { readOnly: true });
    storeSchema(db);
  } catch (error) {
    if (sqliteCode(error) !== undefined) throw fileFailure(error, `The store ${path} cannot be read`);
    const reason = error instanceof Error ? error.message : error;
    throw new Failure(`The store ${path} cannot be backed up. ${reason}`, { cause: error });
  }
}

/** A killed restore may leave a half-done change, which a read-only connection cannot roll back. */
function finishJournal(path: string): void {
  if (!existsSync(`${path}-journal`)) return;
  using db = new DatabaseSync(path);
  db.prepare('SELECT count(*) FROM sqlite_schema').get();
}

/** Follows a link: the backup creates or replaces the file it points to. */
function behindLinks(path: string): string {
  refuseForeignLink(path);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return path;
  if (existsSync(path)) return realpathSync(path);
  throw new Failure(`${path} is a broken link. Remove it, or choose another file.`);
}

/** The files beside the database that the store or SQLite may have, or create. */
const BESIDE = ['-wal', '-shm', '-journal', '-sizes'];

function refuseTarget(to: string, { dataDir, path }: EmbeddedStore, { force }: BackupFlags): void {
  if (!existsSync(dirname(to))) {
    throw new Failure(`There is no folder ${dirname(to)}. Create it, or choose a file elsewhere.`);
  }
  const there = statSync(to, { throwIfNoEntry: false });
  if (there?.isDirectory()) {
    throw new Failure(
      `${to} is a folder. Choose a file in it: plant-store backup ${shellWord(`${to}/plants.backup`)}`,
    );
  }
  const store = statSync(path);
  if (there && there.dev === store.dev && there.ino === store.ino) {
    throw new Failure(`${to} is the store itself. Choose another file.`);
  }
  const own = [...BESIDE.map((ending) => realpathSync(path) + ending), servingLock(realpathSync(dataDir))];
  if (own.includes(join(realpathSync(dirname(to)), basename(to)))) {
    throw new Failure(`${to} belongs to the store itself. Choose another file.`);
  }
  if (there && !there.isFile()) {
    throw new Failure(`${to} is a device or a pipe. A backup must be a file, since it is read back.`);
  }
  if (there && !force) throw thereAlready(to);
}
