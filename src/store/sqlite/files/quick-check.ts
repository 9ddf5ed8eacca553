import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const PROCESS = fileURLToPath(new URL('./quick-check-process.ts', import.meta.url));

/**
 * Checks the pages of a store for damage, even while it is in use. Skips the comparison of indexes with their tables,
 * which takes longer.
 * @returns what is wrong; `ok` when nothing is, `late` after a timeout
 */
export async function quickCheck(path: string, milliseconds: number): Promise<string> {
  const child = spawn(process.execPath, [PROCESS, path], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: milliseconds,
    killSignal: 'SIGKILL',
  });
  const ended = Promise.withResolvers<NodeJS.Signals | null>();
  child.once('error', ended.reject);
  child.once('close', (_, signal) => ended.resolve(signal));
  const [found, failure, signal] = await Promise.all([text(child.stdout), text(child.stderr), ended.promise]);
  if (signal === 'SIGKILL') return 'late';
  return found !== '' ? found : (/^Error: (.+)$/m.exec(failure)?.[1] ?? 'it could not be read');
}
