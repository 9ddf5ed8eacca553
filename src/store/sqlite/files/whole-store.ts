import { open } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { backups } from '../../../limits.ts';
import { threadEnvironment } from '../../../runtime.ts';
import type { CopyNews, CopyTask } from './copy-thread.ts';
import { fileSize } from './durable-files.ts';
import type { Contents } from './inspect.ts';

export type WholeReport = {
  /** The size of the copy so far. */
  copied(bytes: number): void;
  checks(): void;
};

/** A store with problems; the message is a sentence for a person. */
export class DamagedStore extends Error {
  constructor(problems: readonly string[]) {
    // SQLite's messages contain line breaks.
    super(problems.join(' ').replaceAll('\n', ' '));
    this.name = 'DamagedStore';
  }
}

/**
 * Copies a store into an empty file, if given a source, and checks it completely. Flushes along the way, because one
 * final wave would make others wait for the disk.
 * @throws DamagedStore; Error for a foreign database or a newer store; errors of SQLite
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

/** @returns a function that stops it and resolves after the last flush */
function flushAgainAndAgain(path: string, report: WholeReport): () => Promise<void> {
  let flushing: Promise<void> | undefined;
  const timer = setInterval(() => {
    report.copied(fileSize(path));
    flushing ??= flush(path).finally(() => {
      flushing = undefined;
    });
  }, backups.flushEveryMs);
  return async () => {
    clearInterval(timer);
    await flushing;
  };
}

/** A failure here occurs again, and is reported, when the whole file is flushed. */
async function flush(path: string): Promise<void> {
  try {
    await using file = await open(path, 'r+');
    await file.datasync();
  } catch {}
}
