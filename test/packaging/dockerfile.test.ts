import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };

/** Checks of the image that need no container engine. */

const ROOT = join(import.meta.dirname, '..', '..');
const stages = read('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split(/^(?=FROM )/m)
  .map((stage) => stage.trim().split(/\n+/));
const [[base] = [], build = [], image = [], ...others] = stages;

test('there are two stages, and build tools are not in the image', () => {
  assert.deepEqual(others, []);
  assert.match(build[0] ?? '', /^FROM \S+ AS build$/);
  const copied = image.filter((line) => line.startsWith('COPY '));
  assert.notEqual(copied.length, 0);
  for (const line of copied) assert.match(line, /^COPY --from=build /);
  assert.ok(!image.some((line) => /\bnpm\b/.test(line)));
});

test("both stages have the program's major version of Node, which can be pinned by its digest", () => {
  const needed = /NEEDED = (\d+)/.exec(read('bin/plant-store'))?.[1];
  assert.equal(base, `ARG NODE=node:${needed}-slim`);
  assert.deepEqual([build[0], image[0]], ['FROM $NODE AS build', 'FROM $NODE']);
});

test('the labels of the image say what package.json says', () => {
  const [, labels = ''] = /^LABEL (.*)/m.exec(image.join('\n')) ?? [];
  const found = [...labels.matchAll(/image\.(\w+)=("[^"]*"|\S+)/g)].map(([, name, value = '']) => [
    name,
    value.replaceAll('"', ''),
  ]);
  const { description, version, license: licenses } = manifest;
  assert.deepEqual(Object.fromEntries(found), { title: 'Plant Store', description, version, licenses });
});

test('the image has the packages for traces, and none for development', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-image-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    cpSync(join(ROOT, file), join(folder, file));
  for (const folder of manifest.workspaces)
    assert.ok(
      build.includes(`COPY ${folder}/package.json ${folder}/`),
      'npm ci needs what the lock file names',
    );
  const commands = build.flatMap((line) => line.replace(/^RUN /, '').split(' && '));
  for (const command of commands.filter((text) => /^npm (?:pkg|prune) /.test(text))) {
    execSync(`${command} --package-lock-only --offline`, { cwd: folder, stdio: 'pipe' });
  }
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  const missing = needed.filter((name) => !(`node_modules/${name}` in packages));
  assert.deepEqual(missing, []);
  const links = Object.entries<object>(packages).filter(([, entry]) => 'link' in entry);
  assert.deepEqual(links, [], 'what they lead to is not copied');
  const kept = Object.entries(lock.packages)
    .filter(([path, entry]) => 'dev' in entry && path in packages)
    .map(([path]) => path.replace(/^node_modules\/(@opentelemetry)?.*/, '$1'));
  assert.deepEqual([...new Set(kept)], ['@opentelemetry']);
});

test('it runs as a user by number, not root, and owns only the data', () => {
  const user = image.findLastIndex((line) => line.startsWith('USER '));
  assert.match(image[user] ?? '', /^USER [1-9]\d*:[1-9]\d*$/);
  assert.ok(!image.slice(user).some((line) => /^(?:RUN|COPY|ADD) /.test(line)));
  assert.deepEqual(
    image.filter((line) => /chown/.test(line)),
    ['RUN mkdir /data && chown node:node /data && chmod 700 /data'],
  );
});

test('signals reach the service directly, and the image has a health check', () => {
  for (const instruction of ['ENTRYPOINT', 'CMD', 'HEALTHCHECK']) {
    const line = image.find((line) => line.startsWith(`${instruction} `)) ?? '';
    const [, list = ''] = /(\[.*\])$/.exec(line) ?? [];
    assert.ok(Array.isArray(JSON.parse(list)), line);
  }
  assert.ok(image.includes('ENTRYPOINT ["bin/plant-store"]'));
  assert.ok(image.includes('CMD ["serve"]'));
});

test('the context has everything the build reads, but no secrets and no build output', () => {
  const [all, ...admitted] = read('.dockerignore').trim().split('\n');
  assert.equal(all, '*');
  const names = admitted.map((line) => line.replace('!', ''));
  for (const needed of [
    'package.json',
    'package-lock.json',
    'bin',
    'src',
    'console',
    'docs',
    'ops/release',
    'packages',
  ]) {
    assert.ok(names.includes(needed), needed);
  }
  const kept = ['.env', 'ops', 'ops/.env', 'data', 'node_modules', 'build', '.git'];
  assert.deepEqual(
    names.filter((name) => kept.includes(name)),
    [],
  );
});

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}
