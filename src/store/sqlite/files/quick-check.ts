import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROCESS = fileURLToPath(new URL('./quick-check-process.ts', import.meta.url));

/**
 * Checks the pages of a store for damage, even while it is in use. Skips the comparison of indexes with their tables,
 * which takes longer.
 * @returns what is wrong; `ok` when nothing is, `late` after a timeout
 */
export async function quickCheck(path: string, milliseconds: number): Promise<string> {
  const ended = Promise.withResolvers<string>();
  const options = { timeout: milliseconds, killSignal: 'SIGKILL' } as const;
  const child = execFile(process.execPath, [PROCESS, path], options, (error, found, failure) => {
    if (child.pid === undefined) ended.reject(error);
    else if (child.signalCode === 'SIGKILL') ended.resolve('late');
    else ended.resolve(found || (/^Error: (.+)$/m.exec(failure)?.[1] ?? 'it could not be read'));
  });
  return ended.promise;
}
