import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from './harness/postgres.ts';

/**
 * The test command: types, lint, then every test. Each step is silent when it passes; the first that fails
 * ends the run. Arguments name the test files to run instead of all.
 *
 * Tests of the PostgreSQL store share the server that TEST_DATABASE_URL names, as a superuser, or one of their own; each
 * makes its own database there.
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
      // Node leaves a core to itself; much of the time tests wait for processes and browsers.
      `--test-concurrency=${availableParallelism()}`,
      ...files,
    ],
  },
];

function exitOf({ command, args }: Step, env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

const server = process.env.TEST_DATABASE_URL ? undefined : await startPostgres();
const env = server ? { ...process.env, TEST_DATABASE_URL: server.url } : process.env;
try {
  for (const step of steps) {
    const started = performance.now();
    process.exitCode = await exitOf(step, env);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.error(`${step.name}: ${process.exitCode === 0 ? 'ok' : 'failed'} (${seconds} s)`);
    if (process.exitCode !== 0) break;
  }
} finally {
  await server?.stop();
}
