import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { storePath } from '../../src/config.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/plant-store', import.meta.url));

export type Outcome = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

/** Runs the real program to its end: no home folder, no terminal, nothing of this process's environment. */
export async function run(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  return outcomeOf(launch(args, env));
}

export function launch(args: readonly string[], env: Record<string, string> = {}) {
  return spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function outcomeOf(child: ReturnType<typeof launch>): Promise<Outcome> {
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, signal, stdout, stderr };
}

/** A running `serve`, on a port of its own. */
export type Serving = {
  child: ChildProcess;
  /** What was said on standard error until it was ready. */
  greeting: string;
  url: string;
  /** How it ended; standard error from its first line on. */
  ended: Promise<Outcome>;
  stop(): Promise<Outcome>;
};

/** Starts `serve` and waits until it has greeted. Rejects with what it said when it ends before that. */
export async function serve(dataDir: string, env: Record<string, string> = {}): Promise<Serving> {
  const child = launch(['serve', '--port', '0', '--data-dir', dataDir], env);
  const ended = outcomeOf(child);
  const greeting = await Promise.race([
    untilGreeted(child.stderr),
    ended.then(({ stderr }) => Promise.reject(new Error(`serve ended: ${stderr}`))),
  ]);
  const url = /http:\/\/\S+/.exec(greeting)?.[0] ?? '';
  const stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
  return { child, greeting, url, ended, stop };
}

async function untilGreeted(stderr: NodeJS.ReadableStream): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let said = '';
  stderr.on('data', (chunk: Buffer) => {
    said += chunk;
    if (said.includes('curl ')) resolve(said);
  });
  return promise;
}

/** Gives the work a new folder, which is removed afterwards. */
export async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-cli-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Gives the work a data folder with an empty store in it. */
export async function withStoreFolder(work: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const store = await openSqliteStore({
      path: storePath(folder),
      writer: 'inline',
      clock: systemRuntime(silentLog).clock,
      deliveryDelayMs: 0,
      onFatal(error) {
        throw error;
      },
    });
    await store.close();
    await work(folder);
  });
}
