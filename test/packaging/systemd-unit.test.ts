import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { settings } from '../../src/config/settings.ts';
import { delivery, http } from '../../src/limits.ts';

const FILE = join(import.meta.dirname, '..', '..', 'ops', 'plant-store.service');
const unit = readFileSync(FILE, 'utf8');
const skip = spawnSync('systemd-analyze', ['--version']).error && 'systemd is not installed';

test('systemd finds nothing wrong with the unit', { skip }, (t) => {
  const root = mkdtempSync(join(tmpdir(), 'plant-store-unit-'));
  t.after(() => rmSync(root, { recursive: true }));
  const program = join(root, directive('ExecStart').split(' ')[0] ?? '');
  mkdirSync(dirname(program), { recursive: true });
  writeFileSync(program, '');
  chmodSync(program, 0o755);
  const folder = join(root, 'etc', 'systemd', 'system');
  mkdirSync(folder, { recursive: true });
  cpSync(FILE, join(folder, 'plant-store.service'));
  for (const target of ['multi-user', 'network-online', 'sysinit', 'basic', 'shutdown', 'system']) {
    writeFileSync(join(folder, `${target}.${target === 'system' ? 'slice' : 'target'}`), '[Unit]\n');
  }
  const { status, stderr } = spawnSync(
    'systemd-analyze',
    ['verify', `--root=${root}`, 'plant-store.service'],
    {
      encoding: 'utf8',
    },
  );
  assert.deepEqual([stderr, status], ['', 0]);
});

test('systemd rates the unit as confined', { skip }, () => {
  const args = ['security', '--offline=true', '--threshold=20', '--no-pager', FILE];
  const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});

test('the unit allows enough time for a drain, and sets the variables that the service reads', () => {
  const drainSeconds = (http.drainMs + delivery.drainMs) / 1000;
  assert.ok(Number.parseInt(directive('TimeoutStopSec'), 10) >= 1.5 * drainSeconds);
  const names = directive('Environment').match(/\w+(?==)/g) ?? [];
  const ofNode = ['NODE_ENV', 'NODE_COMPILE_CACHE'];
  const own = Object.values(settings).map(({ env }) => env);
  assert.deepEqual(
    names.filter((name) => !own.includes(name) && !ofNode.includes(name)),
    [],
  );
});

test('a wrong setting, exit code 2, does not restart the service repeatedly', () => {
  assert.equal(directive('Restart'), 'on-failure');
  assert.equal(directive('RestartPreventExitStatus'), '2');
});

function directive(name: string): string {
  return new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
}
