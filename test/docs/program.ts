import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Place } from '../../testkit/processes/place.ts';
import { type Server, TOKEN } from '../../testkit/processes/server.ts';

/** A program that a how-to page says to save under this name. */
export function programOf(page: string, name: string): string {
  const text = readFileSync(new URL(`../../docs/how-to/${page}`, import.meta.url), 'utf8');
  const [, program = ''] =
    text.split(`ave it as \`${name}\`:\n\n\`\`\`js\n`)[1]?.match(/^(.*?)^```$/ms) ?? [];
  assert.notEqual(program, '', `The page has no ${name}.`);
  return program;
}

export type StartOptions = { token?: string; args?: string[] };

/** Runs a program in the place's folder. Ends with the test. */
export function start(
  t: TestContext,
  { folder }: Place,
  { url }: Server,
  program: string,
  { token = TOKEN, args = [] }: StartOptions = {},
) {
  const file = join(folder, 'program.mjs');
  writeFileSync(file, program);
  const child = spawn(process.execPath, [file, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, API: url, TOKEN: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const written = { stdout: '', stderr: '' };
  const checks = new Set<() => void>();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      written[stream] += text;
      for (const check of checks) check();
    });
  }
  const lines = () => written.stdout.split('\n').slice(0, -1);
  const ended = once(child, 'close').then(([code]) => ({ code, lines: lines(), stderr: written.stderr }));
  const until = async (holds: () => boolean): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const check = () => holds() && resolve();
    checks.add(check);
    check();
    ended.then(() => reject(new Error(`The program ended: ${JSON.stringify(written)}`)), reject);
    await promise;
    checks.delete(check);
  };
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(kill);
  return {
    ended,
    kill,
    /** Waits for this many lines of standard output, and returns all so far. */
    lines: (count: number) => until(() => lines().length >= count).then(lines),
    said: (pattern: RegExp) => until(() => pattern.test(written.stderr)),
  };
}
