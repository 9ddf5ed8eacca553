import { parentPort, workerData } from 'node:worker_threads';
import { openConnection } from '../engine/connection.ts';
import { type Contents, contentsOf, verifyStore } from './inspect.ts';

/** Copies and reads whole stores, so that the main thread can show progress and be interrupted. */

export type CopyTask = {
  /** The store to copy; without it `path` exists already. */
  from: string | undefined;
  /** The store to check. Nobody else uses it. */
  path: string;
};

export type CopyNews =
  /** The copy is complete, but maybe not on disk. */
  | { phase: 'copied' }
  /** `contents` only without problems. */
  | { phase: 'checked'; problems: string[]; contents: Contents | undefined };

if (parentPort) work(parentPort, workerData);

function work(port: NonNullable<typeof parentPort>, { from, path }: CopyTask): void {
  const post = (news: CopyNews) => port.postMessage(news);
  if (from !== undefined) copy(from, path);
  post({ phase: 'copied' });
  using db = openConnection(path, { readOnly: true });
  const problems = verifyStore(db);
  post({ phase: 'checked', problems, contents: problems.length === 0 ? contentsOf(db) : undefined });
}

/**
 * VACUUM INTO reads one snapshot, whatever is written meanwhile. SQLite's backup API restarts with each write of
 * another process, or copies all pages in one step, which takes as long; and it copies deleted data, too.
 */
function copy(from: string, to: string): void {
  using db = openConnection(from, { readOnly: true });
  db.prepare('VACUUM INTO ?').run(to);
}
