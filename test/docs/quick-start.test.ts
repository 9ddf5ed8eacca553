import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { openShell, startServing } from '../../testkit/processes/shell.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const PLANTS = 630;
const PATIENCE_MS = 20_000;

const quickStart = /^## Quick start\n(.*?)^## /ms.exec(README)?.[1] ?? '';
const [receiver = ''] = blocks('js');
const [response = ''] = blocks('http');
const [start = '', ...pasted] = blocks('bash');

test('the README names the two commands', () => {
  for (const command of ['npm ci && npm start', 'npm ci && npm test']) {
    assert.ok(README.includes(`\`\`\`bash\n${command}\n\`\`\``), command);
  }
});

test('the receiver of the README is the one among the examples, in 15 lines', () => {
  assert.equal(receiver, readFileSync(join(ROOT, 'examples', 'receiver.mjs'), 'utf8'));
  assert.equal(receiver.split('\n').filter((line) => line.trim() !== '').length, 15);
});

test('the quick start of the README, pasted block by block, verifies 630 plants', async () => {
  await using cleanup = new AsyncDisposableStack();
  const place = { folder: copyProject(), env: newcomersEnvironment() };
  cleanup.defer(() => rmSync(place.folder, { recursive: true, force: true }));
  const service = await startServing(start, place);
  cleanup.defer(service.stop);
  const port = await freePort();
  const fill = (text: string) =>
    text
      .replaceAll('http://127.0.0.1:3000', service.url)
      .replaceAll('pst_…', service.token)
      .replaceAll('4000', String(port));
  writeFileSync(join(place.folder, 'receiver.mjs'), fill(receiver));
  const shell = openShell(place);
  cleanup.defer(shell.stop);

  const [prepare = '', subscribe = '', operate = '', count = '', end = '', ...others] = pasted;
  assert.deepEqual(others, []);
  const created = await shell.paste(fill(prepare));
  const [, status, location, body] = /^(.+)\n(.+)\n\n(.+)$/m.exec(response) ?? [];
  for (const line of [status, location, body]) assert.ok(created.includes(line ?? 'missing'), created);
  await shell.paste(fill(subscribe));
  const operated = await shell.paste(fill(operate));
  assert.deepEqual(operated.match(/(?<=^HTTP\/1\.1 )\d+/gm), ['200', '200', '204']);
  const listed = operated.match(/"name":"[^"]*"/g);
  assert.equal(new Set(listed).size, 10, `${listed}`);

  const log = join(place.folder, 'receiver.log');
  await untilVerified(log, PLANTS);
  assert.match(await shell.paste(fill(count)), /^630\nverified \{"id":\d+,"name":"/);
  await shell.paste(fill(end));
  const ids = readFileSync(log, 'utf8').match(/(?<=^verified \{"id":)\d+/gm);
  assert.equal(new Set(ids).size, PLANTS);
});

function blocks(language: string): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms');
  return [...quickStart.matchAll(fenced)].map(([, text = '']) => text);
}

/** The part of a clone after `npm ci` that the quick start needs. */
function copyProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-quick-start-'));
  for (const name of ['bin', 'src', 'packages', 'examples', 'package.json', '.npmrc']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/**
 * Excludes the npm that runs the tests, which puts its Node first on the PATH. Adds settings that do not affect the
 * README: a free port, and quick retries for deliveries sent before the receiver listens.
 */
function newcomersEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  const path = PATH.split(delimiter).filter((entry) => !entry.includes('node_modules'));
  return {
    PATH: path.join(delimiter),
    HOME,
    PORT: '0',
    WEBHOOK_RETRY_SCHEDULE: '0s,100ms,200ms,400ms,800ms,2s,4s',
    // npx would first build the pages, which this test does not need.
    npm_config_ignore_scripts: 'true',
  };
}

async function untilVerified(log: string, count: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const verified = () => readFileSync(log, 'utf8').match(/^verified /gm)?.length ?? 0;
  const check = () => {
    if (verified() >= count) resolve();
  };
  const watcher = watch(log, check);
  const late = setTimeout(() => reject(new Error(`${verified()} of ${count} are verified.`)), PATIENCE_MS);
  try {
    check();
    await promise;
  } finally {
    clearTimeout(late);
    watcher.close();
  }
}
