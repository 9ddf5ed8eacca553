import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { type Service, startService } from '../../testkit/service/service.ts';

/** Compiles and runs each block of the page about the client, unchanged. */

const ROOT = join(import.meta.dirname, '..', '..');
const CLIENT = join(ROOT, 'packages', 'client', 'src', 'client.ts');
const HOW_TO = join(ROOT, 'docs', 'how-to');
const page = readFileSync(join(HOW_TO, 'use-the-client.md'), 'utf8');
const blocks = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, text = '']) => text);
/** The start that the other blocks need. */
const beginning = /^.*^const store = .*?\n/ms.exec(blocks[0] ?? '')?.[0] ?? '';
const programs = blocks.map((block, i) => (i === 0 ? block : beginning + block));
/** The tabs of the other pages, each in a scope of its own, with the ids that they use. */
const tabs = globSync(join(HOW_TO, '*.md'))
  .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/^ *```ts Client\n(.*?)^ *```/gms)])
  .map(([, text]) => `{\n${text}}\n`);
const tabsProgram = `${beginning}declare const webhook: string, event: string;\n${tabs.join('')}`;

/** The output of each block for a user without plants, in order. */
const written = [
  /^Plant 1 was added\.\n$/,
  /^$/,
  /^0\n$/,
  /^$/,
  /^bigint true\n$/,
  /^$/,
  /^$/,
  /^0\n$/,
  /^wh_\w+ whsec_.+\nheld 0\n0 events of the last hour are sent again\.\n$/,
  /^0 \S+\n$/,
  /^Alder \S+\nThe last one \S+\n$/,
  /^0\n$/,
  /^(\S+Z 0 0 0 0\n){24}$/,
  /^0\n$/,
];

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'plant-store-client-'));
  for (const [i, program] of programs.entries()) {
    writeFileSync(join(folder, `${i}.ts`), program);
  }
  writeFileSync(join(folder, 'tabs.ts'), tabsProgram);
  install();
});
after(() => rmSync(folder, { recursive: true }));

test('every block compiles against the types of the package, as strictly as can be, and so do the tabs of other pages', () => {
  compile([...programs.map((_, i) => `${i}.ts`), 'tabs.ts'], ['node']);
});

test('the types of the client need only those of the web platform', () => {
  compile([CLIENT], []);
});

suite('every block does what it says', { concurrency: 2 }, () => {
  let service: Service;
  before(async () => {
    service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
  });
  after(() => service.stop());

  test('each block has its output here', () => assert.equal(blocks.length, written.length));

  for (const [i, pattern] of written.entries()) {
    const block = blocks[i] ?? '';
    test(block.trim(), async () => {
      const token = await service.tokenFor(`block ${i}`);
      const file = join(folder, `${i}.ts`);
      const program = readFileSync(file, 'utf8').replace('https://example.com', 'http://127.0.0.1:9');
      writeFileSync(file, program);
      const env = { PATH: process.env.PATH, PLANT_STORE_URL: service.url, PLANT_STORE_TOKEN: token };
      const running = promisify(execFile)(process.execPath, [file], { env, timeout: 30_000 });
      running.child.stderr?.on('data', async (text: string) => {
        if (!text.includes('connected')) return;
        for (const name of ['Alder', 'The last one']) {
          await service.request('POST', '/plants', { token, body: { name } });
        }
      });
      const { stdout, stderr } = await running;
      assert.match(stdout, pattern);
      assert.equal(stderr, block.includes("'connected'") ? 'connected\n' : '');
    });
  }
});

/** Makes the folder a project with this package. */
function install(): void {
  const home = join(folder, 'node_modules', 'plant-store');
  mkdirSync(home, { recursive: true });
  const exports = { './client': './packages/client/src/client.ts' };
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'plant-store', type: 'module', exports }));
  symlinkSync(join(ROOT, 'packages'), join(home, 'packages'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
}

function compile(files: string[], types: string[]): void {
  const config = join(folder, `tsconfig-${types.join('-')}.json`);
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'));
  const own = {
    types,
    lib: ['esnext', ...(types.length > 0 ? [] : ['dom', 'dom.iterable', 'dom.asynciterable'])],
    typeRoots: [join(ROOT, 'node_modules', '@types')],
    skipLibCheck: false,
    // A block shows what exists without using it.
    noUnusedLocals: false,
  };
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...compilerOptions, ...own }, files }));
  const { stdout } = spawnSync(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', config], {
    encoding: 'utf8',
  });
  assert.equal(stdout, '');
}
