import assert from 'node:assert/strict';
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { after } from 'node:test';
import { shellWord } from '../../src/cli/terminal/terminal.ts';
import { MAIN, PROGRAM } from '../../testkit/processes/executable.ts';
import type { TerminalCall } from './verbs-on-terminal.ts';

/** Why no terminal is available; undefined when one is. */
export function noTerminal(): string | undefined {
  const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' });
  return stdout?.includes('util-linux') ? undefined : 'script of util-linux is not installed';
}

export type Typing = {
  env: Record<string, string>;
  /** The text at which the program waits for an answer. */
  at: string;
  /** The answer, including Enter. */
  keys: string;
};

/** What a terminal shows when a person types this at the question. */
export async function onTerminal(args: readonly string[], { env, at, keys }: Typing): Promise<string> {
  return shownBy(commandOf(args), env, (child, seen, before) => {
    if (seen.includes(at) && !before.includes(at)) child.stdin.write(keys);
  });
}

/** Processes on a terminal without a verb to run. */
const idle: ChildProcess[] = [];
after(() => {
  for (const child of idle) child.disconnect();
});

/**
 * Standard output and standard error of a verb on a terminal, where nobody types. Runs it in a process that may have run
 * other verbs: starting one on a terminal takes 0.2 s of CPU, most verbs a few milliseconds.
 */
export async function shownOnTerminal(args: readonly string[], env: Record<string, string>): Promise<string> {
  const child = idle.pop() ?? startOnTerminal();
  assert.ok(child.stdout);
  const end = randomUUID();
  child.send({ args, env: { PATH: process.env.PATH ?? '', ...env }, end } satisfies TerminalCall);
  let seen = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    seen += chunk;
    if (!seen.includes(end)) continue;
    idle.push(child);
    break;
  }
  return seen.replace(end, '');
}

function startOnTerminal(): ChildProcess {
  const command = commandOf([MAIN], join(import.meta.dirname, 'verbs-on-terminal.ts'));
  const child = spawn('script', scriptArgs(command), {
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
  });
  child.stdout?.setEncoding('utf8');
  return child;
}

/** The same of a verb whose standard input is this text and not the terminal. It has a process of its own. */
export function shownWithInput(
  args: readonly string[],
  env: Record<string, string>,
  input: string,
): Promise<string> {
  return shownBy(`printf %s ${shellWord(input)} | ${commandOf(args)}`, env);
}

/** The shell command of a verb. */
export function commandOf(args: readonly string[], program = PROGRAM): string {
  return [process.execPath, program, ...args].map(shellWord).join(' ');
}

function scriptArgs(command: string): string[] {
  return ['--quiet', '--command', command, '/dev/null'];
}

type Watcher = (child: ChildProcessWithoutNullStreams, seen: string, before: string) => void;

/** What a terminal shows of a shell command. */
export async function shownBy(
  command: string,
  env: Record<string, string> = {},
  onOutput: Watcher = () => {},
): Promise<string> {
  const child = spawn('script', scriptArgs(command), { env: { PATH: process.env.PATH, ...env } });
  let seen = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const before = seen;
    seen += chunk;
    onOutput(child, seen, before);
  });
  await once(child.stdout, 'end');
  child.stdin.end();
  return seen;
}
