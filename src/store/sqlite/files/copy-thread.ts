import { parentPort, workerData } from 'node:worker_threads';
import { openConnection } from '../engine/connection.ts';
import { type Contents, contentsOf, verifyStore } from './inspect.ts';

/** The thread that copies and reads whole stores: the main thread can show how far it is, and be interrupted. */

export type CopyTask = {
  /** The store that is copied first; without it `path` is there already. */
  from: string | undefined;
  /** What is checked. Nobody else uses it. */
  path: string;
};

export type CopyNews =
  /** The copy is whole, though perhaps not on disk. */
  | { phase: 'copied' }
  /** Of what is wrong; its contents when that is nothing. */
  | { phase: 'checked'; problems: string[]; contents: Contents | undefined };

if (parentPort) work(parentPort, workerData);

function work(port: NonNullable<typeof parentPort>, { from, path }: CopyTask): void {
  const post = (news: CopyNews) => port.postMessage(news);
  if (from !== undefined) copy(from, path);
  post({ phase: 'copied' });
  const db = openConnection(path, { readOnly: true });
  try {
    const problems = verifyStore(db);
    post({ phase: 'checked', problems, contents: problems.length === 0 ? contentsOf(db) : undefined });
  } finally {
    db.close();
  }
}

/**
 * One statement reads the whole store in one snapshot, however much is written meanwhile, and leaves out what was
 * deleted. The backup interface of SQLite begins anew with each write of another process unless it copies all pages in
 * one step, takes as long then, and copies what was deleted as well.
 */
function copy(from: string, to: string): void {
  const db = openConnection(from, { readOnly: true });
  try {
    db.prepare('VACUUM INTO ?').run(to);
  } finally {
    db.close();
  }
}
