import { suite } from 'node:test';

/**
 * Runs these test files (URLs) in one process. No test starts before the last file is loaded: node:test runs the hooks
 * `after` once it knows of no further test, even while another file waits for the service that it starts.
 */
export function runTogether(files: readonly string[]): void {
  const loaded = load(files);
  suite('the files are loaded', () => loaded);
}

async function load(files: readonly string[]): Promise<void> {
  for (const file of files) await import(file);
}
