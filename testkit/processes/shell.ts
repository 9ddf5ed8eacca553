import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';

/** A bash that takes one block after another, as a person would paste them. */
export type Shell = {
  /** The block's standard output. Rejects when its last command failed. */
  paste(block: string): Promise<string>;
  /** Ends the shell and its background processes. */
  stop(): Promise<void>;
};

export type Place = { folder: string; env: Record<string, string> };

const DONE = '\u0004 ';

/** Standard error goes to `stderr.log` in the folder. */
export function openShell({ folder, env }: Place): Shell {
  const bash = spawn('bash', [], { cwd: folder, env, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(bash, 'close');
  bash.stdin.write('exec 2> stderr.log\n');

  return {
    async paste(block) {
      bash.stdin.write(`${block}\necho "${DONE}$?"\n`);
      let output = '';
      while (!output.includes(DONE) || !output.endsWith('\n')) {
        const [chunk] = await Promise.race([once(bash.stdout, 'data'), ended.then(() => [null])]);
        if (chunk === null) throw new Error(`The shell ended in:\n${block}\n${output}`);
        output += chunk;
      }
      const [said = '', status] = output.split(DONE);
      if (status?.trim() !== '0') throw new Error(`Exit code ${status} of:\n${block}\n${said}`);
      return said;
    },
    async stop() {
      bash.stdin.end();
      killGroup(bash.pid, 'SIGKILL');
      await ended;
    },
  };
}

export type Serving = {
  /** From the greeting. */
  url: string;
  token: string;
  /** Presses Ctrl+C and waits for the end. */
  stop(): Promise<void>;
};

/** Runs the command that starts the service, in its own process group, as in a terminal. */
export async function startServing(command: string, { folder, env }: Place): Promise<Serving> {
  const child = spawn('bash', ['-c', command], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  let said = '';
  const { promise: greeted, resolve, reject } = Promise.withResolvers<void>();
  child.stderr.on('data', (chunk: Buffer) => {
    said += stripVTControlCharacters(chunk.toString());
    if (said.includes('curl ')) resolve();
  });
  child.on('close', () => reject(new Error(`The service ended: ${said}`)));
  await greeted;
  return {
    url: /API +(\S+)/.exec(said)?.[1] ?? '',
    token: /Token +(\S+)/.exec(said)?.[1] ?? '',
    async stop() {
      killGroup(child.pid, 'SIGINT');
      await ended;
    },
  };
}

export function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Already ended.
  }
}
