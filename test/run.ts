import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The test command: types, lint, then every test. Each step is silent when it passes; the first that fails
 * ends the run. Arguments name the test files to run instead of all.
 */
const root = join(import.meta.dirname, '..');
const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync('test/**/*.test.ts', { cwd: root }).sort();

const steps: { name: string; command: string; args: string[] }[] = [
  { name: 'types', command: 'tsc', args: ['--noEmit'] },
  { name: 'lint', command: 'biome', args: ['check', '--error-on-warnings', '--reporter=summary', '.'] },
  {
    name: 'tests',
    command: process.execPath,
    args: ['--test', '--test-reporter=./test/reporter.ts', '--test-timeout=120000', ...files],
  },
];

for (const { name, command, args } of steps) {
  const started = performance.now();
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) throw error;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.error(`${name}: ${status === 0 ? 'ok' : 'failed'} (${seconds} s)`);
  if (status !== 0) process.exit(status ?? 1);
}
