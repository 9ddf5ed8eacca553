import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { parseSync } from 'vite';

const ROOT = join(import.meta.dirname, '..');

/** Layers from the ground up; a file may import from its own part and from those that its part lists. */
const ALLOWED: Record<string, readonly string[]> = {
  ground: [],
  'packages/client': [],
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
    'packages/client',
    'import',
  ],
};

const STORES = ['store/port', 'store/sqlite', 'store/postgres'] as const;
/** Starts a service, or talks to one. */
const SERVICE = ['ground', 'access', 'config', 'webhooks', 'testkit'] as const;

/**
 * The same of what stands around the program. What talks to a service over HTTP, or runs the command line, must not know
 * how the store and the server are built; a test of a layer may import that layer, and those that it is built on. What
 * two areas of tests share, or tests and benchmarks, is in `testkit/`: areas do not import each other.
 */
const ALLOWED_AROUND: Record<string, readonly string[]> = {
  console: ['packages/client', 'import'],
  // The pages are made of what the program knows of itself, and the pictures of a running one.
  docs: ['ground', 'config', 'http', 'observability', 'cli', 'packages/client', 'testkit'],
  examples: [],
  ops: [],
  testkit: ['ground', 'plants', 'access', 'config', 'webhooks', ...STORES, 'app', 'sender'],
  bench: [...SERVICE, ...STORES, 'plants', 'http'],
  test: ['ground', 'access', 'config', 'testkit'],
  'test/access': [...SERVICE, 'store/port', 'store/sqlite'],
  'test/api': [...SERVICE, 'plants', 'http'],
  'test/cli': [...SERVICE, ...STORES, 'plants', 'cli'],
  'test/client': [...SERVICE, 'packages/client'],
  'test/console': [...SERVICE, 'packages/client', 'console'],
  'test/docs': [...SERVICE, 'docs'],
  'test/examples': [...SERVICE],
  'test/faults': [...SERVICE, 'store/sqlite', 'bench'],
  'test/fuzz': [...SERVICE],
  'test/hostile': [...SERVICE],
  'test/http': ['ground', 'http', 'webhooks', 'observability', 'tracing', 'testkit'],
  'test/import': ['import'],
  'test/json': ['ground', 'json'],
  'test/observability': [...SERVICE, 'http', 'observability', 'tracing', 'docs'],
  'test/packaging': [...SERVICE, 'docs', 'ops'],
  'test/plants': ['plants'],
  'test/process': [...SERVICE, 'bench'],
  'test/security': [...SERVICE],
  'test/sender': [...SERVICE, 'sender', 'store/sqlite'],
  // Its store must pass the tests of the others.
  'test/simulation': [...SERVICE, ...STORES, 'test/store'],
  'test/store': [...SERVICE, ...STORES, 'observability', 'plants'],
  'test/tracing': [...SERVICE, 'tracing'],
  'test/webhooks': [...SERVICE, 'store/port', 'store/sqlite'],
};

/** What every part may import, wherever it stands: ports without anything behind them, and what has no rules. */
const GROUND = new Set([
  'errors.ts',
  'limits.ts',
  'runtime.ts',
  'config/database-url.ts',
  'config/package.ts',
  'http/node-http.ts',
  'idempotency/port.ts',
  'observability/port.ts',
  'tracing/port.ts',
]);

/** `file` is a path from the root of the project, as everywhere below. */
function partOf(file: string): string {
  const [top = '', area = '', ...rest] = file.split('/');
  if (top === 'src') return partOfProgram(file.slice('src/'.length));
  return top === 'packages' || (top === 'test' && rest.length > 0) ? `${top}/${area}` : top;
}

function partOfProgram(file: string): string {
  if (GROUND.has(file)) return 'ground';
  const [folder = '', area] = dirname(file).split('/');
  if (folder === 'store') return area ? `store/${area}` : 'store/port';
  return file === 'app.ts' ? 'app' : folder;
}

const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;
/** Of a thread or a process. */
const START = /new URL\('(\.[^']+\.ts)'/g;

function importsOf(file: string, patterns = [IMPORT, START]): string[] {
  return patterns
    .flatMap((pattern) => [...textOf(file).matchAll(pattern)])
    .map(([, imported = '']) => normalize(join(dirname(file), imported)))
    .filter((path) => /\.tsx?$/.test(path));
}

const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const filesIn = (...folders: string[]) =>
  globSync(
    folders.map((folder) => `${folder}/**/*.{ts,tsx}`),
    { cwd: ROOT },
  );

/** What is installed and run. */
const program = filesIn('src', 'packages/*/src');
const around = filesIn('console', 'docs', 'examples', 'ops', 'testkit', 'bench', 'test');
/** Generators contain source text, which imports files that are beside its place. */
const plain = [...program, ...around].filter((file) => !file.startsWith('docs/generate/'));

test('a part imports only from the parts below it, or that it is about', () => {
  const allowed = { ...ALLOWED, ...ALLOWED_AROUND };
  const wrong = [...program, ...around].flatMap((file) => {
    const part = partOf(file);
    const below = allowed[part];
    assert.ok(below, `${file} is in a folder that no layer names`);
    return importsOf(file)
      .filter((imported) => partOf(imported) !== part && !below.includes(partOf(imported)))
      .map((imported) => `${file} imports ${imported}`);
  });
  assert.deepEqual(wrong, []);
});

test('the architecture page shows the layers as they are checked here', () => {
  const page = textOf('docs/architecture.md').split('## The layer rule')[1]?.split('\n## ')[0] ?? '';
  const namesIn = (text = '') => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  const rows = [...page.matchAll(/^\| (`.*) \| (.*) \|$/gm)];
  const shown = rows.flatMap(([, parts, imports]) =>
    namesIn(parts).map((part) => [part, namesIn(imports).sort()] as const),
  );
  const checked = Object.entries({ ...ALLOWED, console: ALLOWED_AROUND.console ?? [] }).map(
    ([part, below]) => {
      const named = new Set(below.map(folderOf)).difference(new Set(['ground', folderOf(part)]));
      return [folderOf(part), [...named].sort()] as const;
    },
  );
  assert.deepEqual({ ground: [], ...Object.fromEntries(shown) }, Object.fromEntries(checked));
  assert.deepEqual(
    [...GROUND].filter((file) => !page.includes(`\`${file}\``)),
    [],
  );
});

/** All of `store/` is one row. */
const folderOf = (part: string) => part.replace(/^store\/.*/, 'store');

test('no file imports itself through others', () => {
  const done = new Set<string>();
  const visit = (file: string, path: string[]): void => {
    assert.ok(!path.includes(file), `a cycle: ${[...path, file].join(' -> ')}`);
    if (done.has(file)) return;
    const imports = importsOf(file, [IMPORT]).filter((imported) => plain.includes(imported));
    for (const imported of imports) visit(imported, [...path, file]);
    done.add(file);
  };
  for (const file of plain) visit(file, []);
});

test('every import leads to a file', () => {
  const missing = plain.flatMap((file) =>
    importsOf(file).filter((imported) => !existsSync(join(ROOT, imported))),
  );
  assert.deepEqual(missing, []);
});

/** It writes to the pipe of the process that started it. */
const NO_TERMINAL: readonly string[] = ['src/store/sqlite/files/quick-check-process.ts'];

test('only cli/terminal/terminal.ts writes to standard output and standard error, and styles what is there', () => {
  const writes =
    /\bprocess\s*(?:\?\.|\.|\[)\s*['"]?std(?:out|err)|\bstd(?:out|err)\b.*= process\b|\bconsole\??\.(?:log|info|warn|error|debug|dir|table|trace)\b|\bstyleText\b/;
  const wrong = program
    .filter((file) => file !== 'src/cli/terminal/terminal.ts' && !NO_TERMINAL.includes(file))
    .filter((file) => writes.test(textOf(file)));
  assert.deepEqual(wrong, []);
});

test('a folder has at most 20 files, and only four of the program stand outside of any', () => {
  const all = globSync('{src,packages/*/src,testkit,bench,test,console/src}/**/*.*', { cwd: ROOT });
  const crowded = Object.entries(Object.groupBy(all, (file) => dirname(file)))
    .filter(([, held = []]) => held.length > 20)
    .map(([folder]) => folder);
  assert.deepEqual(crowded, []);
  const loose = program.filter((file) => dirname(file) === 'src').map((file) => basename(file));
  assert.deepEqual(loose.sort(), ['app.ts', 'errors.ts', 'limits.ts', 'runtime.ts']);
});

test('the rules of delivery do no I/O: they import nothing but rules of their own', () => {
  const rules = program.filter((file) => file.startsWith('src/webhooks/delivery/'));
  assert.notEqual(rules.length, 0);
  const wrong = rules.filter((file) => /^import (?!type )[^;]* from '[^.]/m.test(textOf(file)));
  assert.deepEqual(wrong, [], 'these files use Node or a package');
});

test('no file imports values from node:http, which would load the WebSocket that Node has', () => {
  const wrong = program.filter((file) => /^import (?!type )[^;]*'node:http'/m.test(textOf(file)));
  assert.deepEqual(wrong, []);
});

test('no test file has a hook for each test, which would also run for other files in the same process', () => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT });
  const wrong = files.filter((file) => /^(?:before|after)Each\(/m.test(textOf(file)));
  assert.deepEqual(wrong, [], 'use `t.after` instead');
});

/** Why a file of `src/` is longer than others. */
const LONG: Readonly<Record<string, string>> = {
  'config/settings.ts': 'a table: every setting in one place',
  'limits.ts': 'a table: every limit of the service in one place',
};

test('no file is longer than 300 lines without a reason', () => {
  const long = program.filter((file) => textOf(file).split('\n').length > 301).map(nameOf);
  assert.deepEqual(
    long.filter((file) => !(file in LONG)),
    [],
  );
  assert.deepEqual(
    Object.keys(LONG).filter((file) => !long.includes(file)),
    [],
  );
});

/** As the tables of exceptions name it: by its path within `src/`, if it is there. */
function nameOf(file: string): string {
  return file.replace(/^src\//, '');
}

/**
 * Why a function is longer than others. Each consists of short functions over variables that they share, as a class
 * would of methods; to split it would be to hand these variables around.
 */
const LONG_FUNCTIONS: Readonly<Record<string, string>> = {
  'access/authentication.ts createAuthenticate': 'what is known of tokens, and the epoch as of which it is',
  'access/jwt-keys.ts createKeySet': 'one set of keys, with its age and the fetch that is under way',
  'app.ts serve': 'the order in which the parts start and stop',
  'cli/import/sender.ts createSender': 'the requests that are under way, and what they say of the service',
  'http/admission/turn.ts gatherTurns': 'the queues of one turn of the event loop, in their order',
  'store/batch.ts groupCommit': 'one queue, and the commit that is under way',
  'store/postgres/engine/primary.ts createPrimary': 'which server is the primary, and the connections to it',
  'store/postgres/engine/writer.ts createWriter': 'a batch, and its commands one by one after it failed',
  'store/postgres/replicas/heartbeat.ts startHeartbeat': 'what was heard of the database, and when',
  'store/postgres/replicas/news.ts createNews':
    'who listens, here and in other replicas, and what they were not told yet',
  'store/sqlite/deliveries/lane-client.ts openEmbeddedLanes': 'one connection, and the port for its writes',
  'store/sqlite/engine/store-files.ts storeFiles': 'the descriptors and sizes of the files of one store',
  'store/sqlite/engine/watch.ts watchStore':
    'what is wrong with one store, of three kinds that affect each other',
  'store/sqlite/engine/writer-thread.ts serve': 'the connection and the ports of one thread',
  'store/sqlite/engine/writer.ts createWriter':
    'one transaction, and its commands one by one after it failed',
  'store/sqlite/store.ts openSqliteStore':
    'the wiring of one store, and the order in which it opens and closes',
  'webhooks/delivery/dispatch.ts createDispatch': 'the lanes of one process, which take turns',
  'webhooks/delivery/leases.ts startLeases': 'the lease of this replica, through its renewals and its end',
  'webhooks/delivery/ownership.ts createOwnership': 'the lanes that a replica owns, and its lease',
  'webhooks/delivery/slots.ts createSlots': 'the slots to send in, which all lanes share',
  'webhooks/delivery/requests.ts createRequests':
    'the requests in flight to receivers, until their outcomes are recorded',
  'webhooks/delivery/deliver.ts deliver':
    'the one place where the rules meet the store, the sender and the clock',
  'webhooks/sending/connections.ts createConnections': 'the connections of all webhooks, and their bounds',
  'webhooks/sending/exchange.ts exchange': 'one request and its answer: each event of the socket may end it',
};

type Node = { type: string; start: number; end: number } & Record<string, unknown>;

/** Every function, with its lines. One without a name of its own has that of what it is given to. */
function functionsIn(file: string): { name: string; lines: number }[] {
  const text = textOf(file);
  const found: { name: string; lines: number }[] = [];
  const named = (node: unknown) => (node as { name?: string } | null | undefined)?.name;
  function visit(value: unknown, name: string): void {
    if (typeof value !== 'object' || value === null) return;
    // What a parser gives: trees of nodes with a type and a place.
    const node = value as Node;
    if (/^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(node.type)) {
      const lines = text.slice(node.start, node.end).split('\n').length;
      found.push({ name: named(node.id) ?? name, lines });
    }
    const inner = named(node.id) ?? named(node.key) ?? name;
    for (const child of Object.values(node)) visit(child, inner);
  }
  visit(parseSync(file, text, { lang: 'ts' }).program, file);
  return found;
}

test('no function is longer than 60 lines without a reason', () => {
  const long = program.flatMap((file) =>
    functionsIn(file)
      .filter(({ lines }) => lines > 60)
      .map(({ name }) => `${nameOf(file)} ${name}`),
  );
  assert.deepEqual(long.sort(), Object.keys(LONG_FUNCTIONS).sort());
});
