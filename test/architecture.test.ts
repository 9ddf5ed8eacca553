import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', 'src');

/** Layers from the ground up; a file may import from its own part and from those that its part lists. */
const ALLOWED: Record<string, readonly string[]> = {
  ground: [],
  client: [],
  plants: ['ground'],
  json: ['ground', 'plants'],
  import: ['ground', 'json', 'plants'],
  access: ['ground'],
  webhooks: ['ground', 'plants', 'access'],
  config: ['ground', 'webhooks'],
  'store/port': ['ground', 'plants', 'access', 'webhooks'],
  'store/sqlite': ['ground', 'plants', 'access', 'webhooks', 'store/port'],
  'store/postgres': ['ground', 'plants', 'access', 'webhooks', 'store/port'],
  http: ['ground', 'json', 'plants', 'access', 'webhooks'],
  tracing: ['ground'],
  observability: ['ground'],
  sender: ['ground', 'webhooks', 'store/port', 'store/sqlite', 'store/postgres', 'tracing'],
  app: [
    'ground',
    'plants',
    'access',
    'webhooks',
    'config',
    'store/port',
    'store/sqlite',
    'store/postgres',
    'http',
    'tracing',
    'observability',
    'sender',
  ],
  cli: [
    'ground',
    'json',
    'plants',
    'access',
    'webhooks',
    'config',
    'store/port',
    'store/sqlite',
    'store/postgres',
    'http',
    'app',
    'client',
    'import',
  ],
};

/** What every part may import, wherever it stands: ports without anything behind them, and what has no rules. */
const GROUND = new Set([
  'errors.ts',
  'limits.ts',
  'runtime.ts',
  'config/database-url.ts',
  'config/package.ts',
  'idempotency/port.ts',
  'observability/port.ts',
  'tracing/port.ts',
]);

function partOf(file: string): string {
  if (GROUND.has(file)) return 'ground';
  const folders = dirname(file).split('/');
  if (folders[0] === 'store') return folders[1] ? `store/${folders[1]}` : 'store/port';
  return file === 'app.ts' ? 'app' : (folders[0] ?? '');
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const specifiers = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'|new URL\('(\.[^']+\.ts)'/g);
  return [...specifiers]
    .map(([, imported, url]) => normalize(join(dirname(file), imported ?? url ?? '')))
    .filter((path) => !path.startsWith('..'));
}

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .map((file) => relative('.', file))
  .filter((file) => file.endsWith('.ts'));

test('a part of the program imports only from the parts below it', () => {
  const wrong = files.flatMap((file) => {
    const part = partOf(file);
    const allowed = ALLOWED[part];
    assert.ok(allowed, `${file} is in a folder that no layer names`);
    return importsOf(file)
      .filter((imported) => partOf(imported) !== part && !allowed.includes(partOf(imported)))
      .map((imported) => `${file} imports ${imported}`);
  });
  assert.deepEqual(wrong, []);
});

test('no file imports itself through others', () => {
  const done = new Set<string>();
  const visit = (file: string, path: string[]): void => {
    assert.ok(!path.includes(file), `a cycle: ${[...path, file].join(' -> ')}`);
    if (done.has(file)) return;
    for (const imported of importsOf(file)) visit(imported, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
});

test('every import leads to a file', () => {
  const known = new Set(files);
  const missing = files.flatMap((file) => importsOf(file).filter((imported) => !known.has(imported)));
  assert.deepEqual(missing, []);
});

/** It writes to the pipe of the process that started it. */
const NO_TERMINAL: readonly string[] = ['store/sqlite/files/quick-check-process.ts'];

test('only cli/terminal.ts writes to standard output and standard error, and styles what is there', () => {
  const writes =
    /\bprocess\s*(?:\?\.|\.|\[)\s*['"]?std(?:out|err)|\bstd(?:out|err)\b.*= process\b|\bconsole\??\.(?:log|info|warn|error|debug|dir|table|trace)\b|\bstyleText\b/;
  const wrong = files
    .filter((file) => file !== 'cli/terminal/terminal.ts' && !NO_TERMINAL.includes(file))
    .filter((file) => writes.test(readFileSync(join(ROOT, file), 'utf8')));
  assert.deepEqual(wrong, []);
});

test('a folder has at most 20 files, and only four stand outside of any', () => {
  const count = new Map<string, number>();
  for (const file of files) count.set(dirname(file), (count.get(dirname(file)) ?? 0) + 1);
  const crowded = [...count].filter(([, size]) => size > 20);
  assert.deepEqual(crowded, []);
  const loose = files.filter((file) => dirname(file) === '.');
  assert.deepEqual(loose.sort(), ['app.ts', 'errors.ts', 'limits.ts', 'runtime.ts']);
});

/** Why a file is longer than others. */
const LONG: Readonly<Record<string, string>> = {
  'app.ts': 'the wiring of all parts, which stands nowhere else',
  'limits.ts': 'a table: every limit of the service in one place',
};

test('no file is longer than 300 lines without a reason', () => {
  const long = files.filter((file) => readFileSync(join(ROOT, file), 'utf8').split('\n').length > 301);
  assert.deepEqual(
    long.filter((file) => !(file in LONG)),
    [],
  );
  assert.deepEqual(
    Object.keys(LONG).filter((file) => !long.includes(file)),
    [],
  );
});
