import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/**
 * The test command: types, lint, then every test. Each step is silent when it passes; the first that fails
 * ends the run. Arguments name the test files to run instead of all.
 *
 * As many files run at a time as there are cores. A file that needs PostgreSQL starts a server of its own, or uses the one
 * that TEST_DATABASE_URL names, as a superuser; then they run one after the other, since what one holds open in a
 * transaction holds up the feeds of the others.
 */
const root = join(import.meta.dirname, '..');
const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync('test/**/*.test.ts', { cwd: root }).sort();

type Step = { name: string; command: string; args: string[] };

const steps: Step[] = [
  { name: 'build', command: 'npm', args: ['run', '--silent', 'build'] },
  { name: 'types', command: 'tsc', args: ['--noEmit'] },
  { name: 'types of the console', command: 'tsc', args: ['--noEmit', '-p', 'console'] },
  { name: 'lint', command: 'biome', args: ['check', '--error-on-warnings', '--reporter=summary', '.'] },
  {
    name: 'tests',
    command: process.execPath,
    args: [
      '--test',
      '--test-reporter=./test/reporter.ts',
      '--test-timeout=120000',
      `--test-concurrency=${process.env.TEST_DATABASE_URL ? 1 : availableParallelism()}`,
      ...files,
    ],
  },
];

function exitOf({ command, args }: Step): Promise<number> {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

for (const step of steps) {
  const started = performance.now();
  process.exitCode = await exitOf(step);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.error(`${step.name}: ${process.exitCode === 0 ? 'ok' : 'failed'} (${seconds} s)`);
  if (process.exitCode !== 0) break;
}
