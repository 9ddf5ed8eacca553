import { open } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { backups } from '../../../limits.ts';
import { threadEnvironment } from '../../../runtime.ts';
import type { CopyNews, CopyTask } from './copy-thread.ts';
import { fileSize } from './file-size.ts';
import type { Contents } from './inspect.ts';

/** What is told of a store that is copied or checked. */
export type WholeReport = {
  /** So many bytes of the copy are there. */
  copied(bytes: number): void;
  checks(): void;
};

/** A store that is not whole, in a sentence for a person. */
export class DamagedStore extends Error {
  constructor(problems: readonly string[]) {
    // SQLite breaks lines in what it says of a page.
    super(problems.join(' ').replaceAll('\n', ' '));
    this.name = 'DamagedStore';
  }
}

/**
 * Copies a store into an empty file if it is told from where, and checks that all of it is there and fits together.
 * What is written is flushed on the way, so that it does not reach the disk in one wave, which others would wait for.
 *
 * @throws DamagedStore; Error for a store of another program or a newer version; errors of SQLite
 */
export async function copyAndCheck(task: CopyTask, report: WholeReport): Promise<Contents> {
  const thread = new Worker(new URL('./copy-thread.ts', import.meta.url), {
    workerData: task,
    env: threadEnvironment(),
  });
  const checked = Promise.withResolvers<Contents>();
  thread.on('message', (news: CopyNews) => {
    if (news.phase === 'copied') report.checks();
    else if (news.contents) checked.resolve(news.contents);
    else checked.reject(new DamagedStore(news.problems));
  });
  thread.once('error', checked.reject);
  const stopFlushing = task.from === undefined ? async () => {} : flushAgainAndAgain(task.path, report);
  try {
    return await checked.promise;
  } finally {
    await stopFlushing();
  }
}

/** @returns stops it, and resolves when the last flush is over */
function flushAgainAndAgain(path: string, report: WholeReport): () => Promise<void> {
  let flushing: Promise<void> | undefined;
  let stopped = false;

  function begin(): void {
    report.copied(fileSize(path));
    flushing ??= flush(path).finally(() => {
      flushing = undefined;
    });
  }

  const timer = setInterval(begin, backups.flushEveryMs);
  return async () => {
    if (!stopped) clearInterval(timer);
    stopped = true;
    await flushing;
  };
}

/** What fails here fails again, and is told, when the whole file is flushed. */
async function flush(path: string): Promise<void> {
  try {
    await using file = await open(path, 'r+');
    await file.datasync();
  } catch {}
}
