import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';

const CLIENT = join(import.meta.dirname, '..', '..', 'packages', 'client', 'src', 'client.ts');
const MOST_BYTES = 5.6 * 1024;

test('the whole client takes less than 5.6 KiB, minified and gzipped, and imports nothing', async () => {
  const { code, imports } = await bundled(`export * from '${CLIENT}';`);
  const { length } = gzipSync(code);
  assert.ok(length < MOST_BYTES, `${length} bytes`);
  assert.deepEqual(imports, []);
});

test('importing a part of the client includes no other', async () => {
  const [whole, client, verifier, failure] = await Promise.all(
    ['*', '{ PlantStore }', '{ verifyWebhook }', '{ PlantStoreError }'].map((names) =>
      bundled(`export ${names} from '${CLIENT}';`),
    ),
  );
  assert.ok(whole && client && verifier && failure);
  // Texts that only one part contains.
  assert.match(client.code, /rotate-secret/);
  assert.doesNotMatch(client.code, /whsec_/);
  assert.match(verifier.code, /whsec_/);
  assert.doesNotMatch(verifier.code, /rotate-secret|PlantStoreError|fetch/);
  assert.doesNotMatch(failure.code, /rotate-secret|whsec_|fetch/);
  assert.equal((await bundled(`import '${CLIENT}';`)).code.trim(), '');
});

/** Vite's output for a module in a browser. */
async function bundled(module: string): Promise<{ code: string; imports: string[] }> {
  const entry = 'entry';
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: true,
      rolldownOptions: { input: entry, preserveEntrySignatures: 'strict', output: { format: 'es' } },
      modulePreload: false,
    },
    plugins: [
      {
        name: entry,
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? module : null),
      },
    ],
  });
  // No watching, one input and one format, so there is one output.
  const { output } = result as Rolldown.RolldownOutput;
  const chunks = output.filter((part) => part.type === 'chunk');
  return {
    code: chunks.map(({ code }) => code).join('\n'),
    imports: chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]),
  };
}
