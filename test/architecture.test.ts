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
  import: ['ground', 'plants'],
  access: ['ground'],
  webhooks: ['ground', 'plants', 'access'],
  config: ['ground', 'webhooks'],
  'store/port': ['ground', 'plants', 'access', 'webhooks'],
  'store/sqlite': ['ground', 'plants', 'access', 'webhooks', 'store/port'],
  'store/postgres': ['ground', 'plants', 'access', 'webhooks', 'store/port'],
  http: ['ground', 'plants', 'access', 'webhooks'],
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

function partOf(file: string): string {
  const folders = dirname(file).split('/');
  if (folders[0] === 'store') return folders[1] ? `store/${folders[1]}` : 'store/port';
  if (folders[0] !== '.') return folders[0] ?? '';
  if (file === 'app.ts') return 'app';
  return file.startsWith('config') ? 'config' : 'ground';
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
const NO_TERMINAL: readonly string[] = ['store/sqlite/quick-check-process.ts'];

test('only cli/terminal.ts writes to standard output and standard error, and styles what is there', () => {
  const writes =
    /\bprocess\s*(?:\?\.|\.|\[)\s*['"]?std(?:out|err)|\bstd(?:out|err)\b.*= process\b|\bconsole\??\.(?:log|info|warn|error|debug|dir|table|trace)\b|\bstyleText\b/;
  const wrong = files
    .filter((file) => file !== 'cli/terminal.ts' && !NO_TERMINAL.includes(file))
    .filter((file) => writes.test(readFileSync(join(ROOT, file), 'utf8')));
  assert.deepEqual(wrong, []);
});
