import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { openBeside } from '../stores/beside.ts';
import { PROGRAM } from './executable.ts';
import { runInThread } from './verb-threads.ts';

export type Outcome = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

/**
 * Verbs that serve nobody and leave a store's files to SQLite, as `beside` does in this process. The others copy,
 * replace or lock such files, or start a service.
 */
const THREADED = new Set(
  'plant webhook delivery event status whoami login logout openapi version user token share migrate'.split(
    ' ',
  ),
);

/**
 * Runs the program to its end, without a home folder, a terminal or this process's environment: most verbs in a thread
 * of this process, the others in a process. Use `launch` for a verb that must have a process.
 */
export async function run(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  if (!THREADED.has(args[0] ?? '')) return outcomeOf(launch(args, env));
  return { signal: null, ...(await runInThread({ args, env: { PATH: process.env.PATH ?? '', ...env } })) };
}

/**
 * Starts the real program.
 *
 * @param through a command that runs it, such as `setpriv` with options; the program's command line follows
 */
export function launch(
  args: readonly string[],
  env: Record<string, string> = {},
  through: readonly string[] = [],
): Launched {
  const [file = '', ...rest] = [...through, process.execPath, PROGRAM, ...args];
  return spawn(file, rest, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

export type Launched = ChildProcessByStdio<null, Readable, Readable>;

/** Looks at each turn of the event loop, kills the program once `isReached`, and resolves with how it ended. */
export async function killOnce(child: Launched, isReached: () => boolean): Promise<Outcome> {
  const ended = outcomeOf(child);
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  while (!hasEnded && !isReached()) await turn();
  child.kill('SIGKILL');
  return ended;
}

/** How it ended, and its whole output. Call it at once, to miss nothing. */
export async function outcomeOf(
  child: ChildProcessByStdio<Writable | null, Readable, Readable>,
): Promise<Outcome> {
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, signal, stdout, stderr };
}

/** The greeting of a `serve`. Rejects with the output when it ends before that. */
export function untilGreeted(child: Launched, ended: Promise<Outcome>): Promise<string> {
  // The last line of the greeting, which repeats the URL.
  return untilSaid(child.stderr, 'curl ', ended);
}

/** The URL in a greeting, without a trailing slash. */
export function greetedUrl(greeting: string): string {
  return /(?:API|Ready) +(http:\/\/\S+)/.exec(greeting)?.[1] ?? '';
}

/** A program's output up to this text. Rejects when it ends before that. */
export function untilSaid(output: Readable, text: string, ended: Promise<Outcome>): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = '';
  output.on('data', (chunk: Buffer) => {
    said += chunk;
    if (said.includes(text)) resolve(said);
  });
  ended.then(({ stderr }) => reject(new Error(`The program ended: ${stderr}`)), reject);
  return promise;
}

/** Gives the work a temporary folder. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-cli-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Gives the work a temporary data folder with an empty store. */
export async function withStoreFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  return withFolder(async (folder) => {
    await (await openBeside(folder)).store.close();
    return work(folder);
  });
}
