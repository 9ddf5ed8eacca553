import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

// biome-ignore lint/style/noDefaultExport: what Vite looks for.
export default defineConfig({
  root: import.meta.dirname,
  // Works at any path that a proxy uses.
  base: './',
  build: {
    outDir: '../build/console',
    emptyOutDir: true,
    target: 'es2022',
    // Browsers with `light-dark()`, which the styles use.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    // Separate files: the page's policy forbids data URLs.
    assetsInlineLimit: 0,
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [compressed()],
});

/** Writes `x.br` and `x.gz` next to each file, so that the service compresses nothing. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    async writeBundle({ dir = '' }, bundle) {
      await Promise.all(Object.keys(bundle).map((name) => compress(join(dir, name))));
    },
  };
}

async function compress(file: string): Promise<void> {
  const content = await readFile(file);
  await writeFile(`${file}.br`, await promisify(brotliCompress)(content));
  await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
}
