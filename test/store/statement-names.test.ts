import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Where the statements of PostgreSQL are; each connection prepares one once under its name. */
const FOLDER = new URL('../../src/store/postgres/', import.meta.url);

test('no two statements have the same name, the parts of names that are made up included', () => {
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => namesIn(readFileSync(new URL(file, FOLDER), 'utf8')));
  assert.ok(names.includes('plants-create') && names.includes('plants-page-'));
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  );
});

/** Of a name that is put together, what stands before its first part that changes. */
function namesIn(source: string): string[] {
  return [...source.matchAll(/\bname: ['`]([a-z-]+)(?:['`],|\$\{)/g)].map(([, name = '']) => name);
}
