import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openConnection, refuseLostDatabase } from '../../store/sqlite/engine/connection.ts';
import { type Draft, openDraft } from '../../store/sqlite/engine/drafts.ts';
import { sqliteCode } from '../../store/sqlite/engine/failure.ts';
import { backUp } from '../../store/sqlite/files/backup.ts';
import { fileSize } from '../../store/sqlite/files/file-size.ts';
import { storeSchema } from '../../store/sqlite/files/inspect.ts';
import { refuseForeignLink } from '../atomic-file.ts';
import { Failure } from '../failure.ts';
import { printJson, say, shellWord } from '../terminal/terminal.ts';
import { argument, option, settingOption, type Verb } from '../verb.ts';
import { type EmbeddedStore, embeddedStore, fileFailure } from './embedded-store.ts';
import type { StoreFlags } from './store.ts';
import { showWholeProgress, sizeText } from './whole-progress.ts';

type BackupFlags = StoreFlags & { force?: true; json?: true };

export const verb: Verb = {
  arguments: [argument('<file>', 'what to write')],
  options: [
    settingOption('dataDir'),
    option('--force', 'replace the file if it is there'),
    option('--json', 'print JSON: {path, bytes, plants, seconds}'),
  ],
  examples: ['backup plants.backup', 'backup /backup/plants-$(date +%F).backup --json'],
  notes: `Writes all that is in the data folder's store at one moment to one file. A service that runs goes on meanwhile. The
file gets its name when it is whole, on disk, and was read back and checked; until then what has that name stays.

It holds what the store holds: hashes of tokens, and the secrets of webhooks as they are. Only its owner may read it; keep
it so. To go back to it: plant-store restore FILE.`,
  run,
};

async function run(flags: BackupFlags, file: string): Promise<void> {
  const store = embeddedStore(flags, 'backup');
  const to = behindLinks(resolve(file));
  refuseStore(store);
  refuseTarget(to, store, flags);
  // The service comes first wherever both want a core.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const startedAt = performance.now();
  const made = await write(store, to, flags);
  const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(3));
  if (flags.json) return printJson({ path: to, ...made, seconds });
  say(`Backed up ${made.plants} plants to ${to}: ${sizeText(made.bytes)} in ${seconds} s, checked.`);
  say('It holds the secrets of webhooks and the hashes of tokens: let nobody read it.');
}

async function write({ path }: EmbeddedStore, to: string, { force }: BackupFlags) {
  const report = showWholeProgress(fileSize(path) + fileSize(`${path}-wal`));
  let draft: Draft | undefined;
  const forget = onInterrupt(() => {
    report.end();
    draft?.end();
  });
  try {
    draft = openDraft(`${to}.partial-`);
    const made = await backUp({ from: path, to, draft, replaces: force ?? false, report });
    if (made === undefined) throw thereAlready(to);
    return made;
  } catch (error) {
    throw fileFailure(error, `The backup cannot be made in ${dirname(to)}, and nothing is left of it`);
  } finally {
    report.end();
    forget();
  }
}

/** That there is a store, and that it is one: what fails later is the fault of the place where the backup goes. */
function refuseStore({ path }: EmbeddedStore): void {
  refuseLostDatabase(path);
  if (!existsSync(path)) {
    throw new Failure(`There is no store at ${path}. Name its folder with --data-dir.`);
  }
  try {
    finishJournal(path);
    const db = openConnection(path, { readOnly: true });
    try {
      storeSchema(db);
    } finally {
      db.close();
    }
  } catch (error) {
    if (sqliteCode(error) !== undefined) throw fileFailure(error, `The store ${path} cannot be read`);
    const reason = error instanceof Error ? error.message : error;
    throw new Failure(`The store ${path} cannot be backed up. ${reason}`, { cause: error });
  }
}

/** A restore that was killed may leave a change half undone, which whoever may only read cannot finish. */
function finishJournal(path: string): void {
  if (!existsSync(`${path}-journal`)) return;
  const db = new DatabaseSync(path);
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
  } finally {
    db.close();
  }
}

/** A link stays one, and the file that it leads to is what is made or replaced. */
function behindLinks(path: string): string {
  refuseForeignLink(path);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return path;
  if (existsSync(path)) return realpathSync(path);
  throw new Failure(`${path} is a link that leads nowhere. Remove it, or name another file.`);
}

function refuseTarget(to: string, { path }: EmbeddedStore, { force }: BackupFlags): void {
  const there = statSync(to, { throwIfNoEntry: false });
  if (there?.isDirectory()) {
    throw new Failure(
      `${to} is a folder. Name a file in it: plant-store backup ${shellWord(`${to}/plants.backup`)}`,
    );
  }
  const store = statSync(path);
  if (there && there.dev === store.dev && there.ino === store.ino) {
    throw new Failure(`${to} is the store itself. Name another file.`);
  }
  if (there && !there.isFile()) {
    throw new Failure(
      `${to} is no file, but a device or a pipe. A backup has to be a file: it is read back.`,
    );
  }
  if (there && !force) throw thereAlready(to);
  if (!existsSync(dirname(to))) {
    throw new Failure(`There is no folder ${dirname(to)}. Make it, or name a file elsewhere.`);
  }
}

function thereAlready(to: string): Failure {
  return new Failure(`${to} is there already. Name another file, or replace it with --force.`);
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** @returns ends it */
function onInterrupt(cleanUp: () => void): () => void {
  function interrupted(signal: NodeJS.Signals): void {
    cleanUp();
    forget();
    // Ends the process at once, as the signal does without us: a statement of SQLite may go on for long.
    process.kill(process.pid, signal);
  }

  function forget(): void {
    for (const signal of SIGNALS) process.off(signal, interrupted);
  }

  for (const signal of SIGNALS) process.on(signal, interrupted);
  return forget;
}
