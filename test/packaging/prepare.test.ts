import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

/** A checkout without development packages, as after "npm ci --omit=dev". */
const checkout = mkdtempSync(join(tmpdir(), 'plant-store-prepare-'));
after(() => rmSync(checkout, { recursive: true }));
const SCRIPT = join('ops', 'release', 'prepare.js');
cpSync(join(import.meta.dirname, '..', '..', SCRIPT), join(checkout, SCRIPT));
cpSync(join(import.meta.dirname, '..', '..', 'package.json'), join(checkout, 'package.json'));

for (const [command, status] of [
  ['ci', 0],
  ['install', 0],
  ['run-script', 0],
  ['pack', 1],
  ['publish', 1],
] as const) {
  test(`without development packages "npm ${command}" ${status === 0 ? 'continues' : 'fails'}, and says what is missing`, () => {
    const ended = spawnSync(process.execPath, [join(checkout, SCRIPT)], {
      env: { ...process.env, npm_command: command },
      encoding: 'utf8',
    });
    assert.match(ended.stderr, /^The console and the docs are not built: .*Run "npm ci"\.\n$/);
    assert.deepEqual([ended.status, ended.stdout], [status, '']);
  });
}

test('the first "npx plant-store" in a checkout builds nothing and prints nothing', () => {
  const env = { ...process.env, npm_command: 'exec' };
  const ended = spawnSync(process.execPath, [join(checkout, SCRIPT)], { env, encoding: 'utf8' });
  assert.deepEqual([ended.status, ended.stdout, ended.stderr], [0, '', '']);
});
