import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const DOCS = join(import.meta.dirname, '..', '..', 'docs');
const page = readFileSync(join(DOCS, 'threat-model.md'), 'utf8');

/** Paths of the tests that a text links to. */
function testsIn(text: string): string[] {
  return [...text.matchAll(/\]\((\.\.\/test\/[^)]+)\)/g)].map(([, path = '']) => path);
}

test('each of the OWASP API Top 10 names existing tests', () => {
  const rows = page.split('\n').filter((line) => /^\| API\d+ /.test(line));
  const numbers = rows.map((row) => Number(/^\| API(\d+) /.exec(row)?.[1]));
  assert.deepEqual(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  for (const row of rows) {
    const tests = testsIn(row);
    assert.ok(tests.length > 0, row);
    for (const path of tests) {
      assert.match(path, /\.test\.ts$/);
      assert.ok(existsSync(join(DOCS, path)), path);
    }
  }
});

test('each attack surface names existing tests', () => {
  const [, table = ''] = /^## Entry points.*?\n\n(\|.*?)\n\n/ms.exec(page) ?? [];
  const rows = table.split('\n').slice(2);
  assert.ok(rows.length > 10);
  for (const row of rows) {
    assert.ok(testsIn(row).length > 0, row);
    for (const path of testsIn(row)) assert.ok(existsSync(join(DOCS, path)), path);
  }
});
