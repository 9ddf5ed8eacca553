import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Machine, on } from './network.ts';

export type Program = {
  machine: Machine;
  command: readonly string[];
  env?: Record<string, string>;
  /** The user to run as; root by default. */
  user?: string;
  /** Called with each line that it writes. */
  onLine?: (line: string) => void;
};

/** A program that is restarted whenever it ends, as by systemd. */
export type Kept = {
  /** Does not restart it after its next exit. */
  hold(): void;
  /** Restarts it. */
  release(): void;
};

/** systemd's own pause is 100 ms; a machine that starts takes longer. */
const PAUSE_MS = 300;

/** Keeps a program running until this process ends. Its output goes to `<folder>/<machine>.log`. */
export function keepRunning({ machine, command, env, user, onLine }: Program, folder: string): Kept {
  const log = createWriteStream(join(folder, `${machine}.log`), { flags: 'a' });
  const as = user ? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'] : [];
  const [file = '', ...args] = on(machine, [...as, ...command]);
  let isHeld = false;
  void run();

  async function run(): Promise<void> {
    for (;;) {
      if (!isHeld) await once(start(), 'exit');
      await sleep(PAUSE_MS);
    }
  }

  function start() {
    const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        log.write(`${new Date().toISOString()} ${line}\n`);
        onLine?.(line);
      });
    return child;
  }

  return {
    hold() {
      isHeld = true;
    },
    release() {
      isHeld = false;
    },
  };
}
