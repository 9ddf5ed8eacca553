import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');

test('the messages that the page about running the service explains are those of the program', () => {
  const page = readFileSync(join(ROOT, 'docs/how-to/run-the-service.md'), 'utf8');
  const program = globSync('src/**/*.ts', { cwd: ROOT })
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('');
  const quoted = ['| Message |', '| It says |'].flatMap((heading) => messagesIn(page, heading));
  assert.ok(quoted.length > 30);
  assert.deepEqual(
    quoted.filter((message) => partsOf(message).some((part) => !program.includes(part))),
    [],
  );
});

/** What the first column of a table quotes. */
function messagesIn(page: string, heading: string): string[] {
  const [, table = ''] = page.split(heading);
  const [rows = ''] = table.split('\n\n');
  const cells = rows.split('\n').map((row) => row.split(' | ')[0] ?? '');
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, message = '']) => message));
}

/** A message without what the program inserts, and divided where it joins texts. */
function partsOf(message: string): string[] {
  return message
    .split(/^could not |[…().]|[,:](?: |$)/)
    .map((part) => part.trim())
    .filter(Boolean);
}
