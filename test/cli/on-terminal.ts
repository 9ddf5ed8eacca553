import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { shellWord } from '../../src/cli/terminal/terminal.ts';
import { PROGRAM } from '../../testkit/processes/executable.ts';

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

/**
 * Standard output and standard error of a verb on a terminal.
 *
 * @param input for its standard input, which is then not a terminal
 */
export async function shownOnTerminal(
  args: readonly string[],
  env: Record<string, string>,
  input?: string,
): Promise<string> {
  const command = commandOf(args);
  return shownBy(input === undefined ? command : `printf %s ${shellWord(input)} | ${command}`, env);
}

/** The shell command of a verb. */
export function commandOf(args: readonly string[]): string {
  return [process.execPath, PROGRAM, ...args].map(shellWord).join(' ');
}

type Watcher = (child: ChildProcessWithoutNullStreams, seen: string, before: string) => void;

/** What a terminal shows of a shell command. */
export async function shownBy(
  command: string,
  env: Record<string, string> = {},
  onOutput: Watcher = () => {},
): Promise<string> {
  const child = spawn('script', ['--quiet', '--command', command, '/dev/null'], {
    env: { PATH: process.env.PATH, ...env },
  });
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
