import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { innermost } from '../measure/proc.ts';
import { atEnd } from './cleanup.ts';
import { pinned } from './tools.ts';

/** A server in its own process. */
export type Server = {
  /** Without a trailing slash. */
  url: string;
  /** The server itself, not a wrapper around it. */
  pid: number;
  /** SIGTERM; resolves with the exit code, or null when a signal ended it. */
  stop(): Promise<number | null>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
};

export type ServerOptions = {
  command: string[];
  env?: Record<string, string>;
  /** The core to run on; any by default. */
  core?: number;
  /** A file for its stderr after the URL; discarded by default. */
  errorLog?: string;
};

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

/** Starts a server and waits until it has printed its URL on stderr. */
export async function startServer({ command, env, core, errorLog }: ServerOptions): Promise<Server> {
  const [file, args] = pinned(core, command);
  // A separate process group, so that a wrapper ends together with its server.
  const child = spawn(file, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const exited: Promise<[number | null]> = once(child, 'exit').then(([code]) => [code]);
  const forget = atEnd(() => signalGroup(child, 'SIGKILL'));
  void exited.then(forget);

  const url = await readUrl(child);
  if (errorLog !== undefined) child.stderr.pipe(createWriteStream(errorLog, { flags: 'a' }));
  const pid = innermost(pidOf(child));
  return {
    url,
    pid,
    async stop() {
      if (!hasEnded(child)) process.kill(pid, 'SIGTERM');
      const late = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_TIMEOUT_MS);
      const [code] = await exited;
      clearTimeout(late);
      return code;
    },
    async kill() {
      signalGroup(child, 'SIGKILL');
      await exited;
    },
  };
}

/** Reads stderr up to the URL; the rest is discarded, so that the pipe does not fill up. */
function readUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const fail = (why: string) => {
      signalGroup(child, 'SIGKILL');
      reject(new Error(`${child.spawnargs.join(' ')}: ${why}\n${text}`));
    };
    const timer = setTimeout(() => fail('said no URL in time'), START_TIMEOUT_MS);
    const ended = () => {
      clearTimeout(timer);
      fail('ended before it said its URL');
    };
    const read = (chunk: string) => {
      text += chunk;
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
      if (!url) return;
      clearTimeout(timer);
      child.stderr?.off('data', read);
      child.stderr?.resume();
      child.off('exit', ended);
      resolve(url);
    };
    child.stderr?.setEncoding('utf8').on('data', read);
    child.once('error', (error) => fail(error.message));
    child.once('exit', ended);
  });
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('The process did not start');
  return child.pid;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || hasEnded(child)) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It ended by itself in the meantime.
  }
}
