import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { shellWord } from '../../src/cli/terminal.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/plant-store', import.meta.url));

/** Why there is no terminal to be had; undefined when there is. */
export function noTerminal(): string | undefined {
  const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' });
  return stdout?.includes('util-linux') ? undefined : 'script of util-linux is not installed';
}

export type Typing = {
  env: Record<string, string>;
  /** What the program shows when it waits for an answer. */
  at: string;
  /** The answer, its Enter included. */
  keys: string;
};

/** What a terminal shows when somebody types this at the question. */
export async function onTerminal(args: readonly string[], { env, at, keys }: Typing): Promise<string> {
  const command = [process.execPath, PROGRAM, ...args].map(shellWord).join(' ');
  const child = spawn('script', ['--quiet', '--command', command, '/dev/null'], {
    env: { PATH: process.env.PATH, ...env },
  });
  let seen = '';
  child.stdout.on('data', (chunk: Buffer) => {
    const before = seen;
    seen += chunk;
    if (seen.includes(at) && !before.includes(at)) child.stdin.write(keys);
  });
  const shown = await text(child.stdout);
  child.stdin.end();
  return shown;
}
