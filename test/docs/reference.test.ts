import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { referencePages } from '../../docs/generate/pages.ts';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '..', '..');

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

test('every reference page matches the code; "npm run docs" regenerates them', async () => {
  for (const [file, text] of await referencePages()) {
    assert.equal(read(file), text, `${file} is stale`);
  }
});

test('the decision about dependencies gives a reason for every one', () => {
  const decision = read('docs/decisions/0002-dependencies.md');
  const names = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.devDependencies)];
  const missing = names.filter((name) => !decision.includes(`\`${name}\``));
  assert.deepEqual(missing, []);
});

test('the decisions are numbered without a gap and listed in their index', () => {
  const index = read('docs/decisions/README.md');
  const listed = [...index.matchAll(/\]\((\d{4})-[a-z-]+\.md\)/g)].map(([, number]) => Number(number));
  assert.deepEqual(
    listed,
    listed.map((_, i) => i + 1),
  );
});

test('the table of operations names every operation of the OpenAPI document, and no other', () => {
  const { paths }: { paths: Record<string, object> } = JSON.parse(read('docs/reference/openapi.json'));
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const listed = read('docs/reference/operations.md').matchAll(/^\| `([A-Z]+ [^`]+)` \|/gm);
  assert.deepEqual([...listed].map(([, operation]) => operation).sort(), operations.sort());
});
