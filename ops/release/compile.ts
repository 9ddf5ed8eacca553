import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';

/**
 * Makes `build/lib`: the program, bundled from `src/` into few files, its migrations, and `plant-store/client` with its
 * types. The package needs it, because Node does not strip types in `node_modules`; a checkout runs `src/` directly.
 *
 * Replaces the previous build only when the new one is complete.
 */
export async function compile(root: string): Promise<void> {
  const build = join(root, 'build');
  mkdirSync(build, { recursive: true });
  const workplace = mkdtempSync(join(build, '.lib-'));
  const fresh = join(workplace, 'fresh');
  try {
    await bundleProgram(root, fresh);
    compileClient(root, join(fresh, 'client'));
    const store = join(root, 'src', 'store');
    for (const file of globSync('*/migrations/*.sql', { cwd: store }))
      cpSync(join(store, file), join(fresh, file));
    const client = join(workplace, 'client');
    cpSync(join(fresh, 'client'), client, { recursive: true });
    replaceFolder(join(root, 'packages', 'client', 'build'), client, join(workplace, 'stale-client'));
    replaceFolder(join(build, 'lib'), fresh, join(workplace, 'stale'));
  } finally {
    rmSync(workplace, { recursive: true, force: true });
  }
}

/** A service that loads some 50 files starts a fifth faster than one that loads 350. Dependencies stay packages. */
async function bundleProgram(root: string, folder: string): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: { main: join(root, 'src', 'cli', 'main.ts') },
    platform: 'node',
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    plugins: [filesOfThreads],
  });
  await bundle.write({ dir: folder, entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
  await bundle.close();
}

const THREAD_FILE = /new URL\('(\.\/[\w-]+\.ts)', import\.meta\.url\)/g;

/** What threads and processes run is bundled as well, and gets its new name where it is started. */
const filesOfThreads: Plugin = {
  name: 'files-of-threads',
  async transform(code, importer) {
    let text = code;
    for (const [found, file = ''] of code.matchAll(THREAD_FILE)) {
      const id = (await this.resolve(file, importer))?.id;
      if (id === undefined) throw new Error(`${importer} names ${file}, which is missing.`);
      text = text.replace(
        found,
        `new URL(import.meta.ROLLUP_FILE_URL_${this.emitFile({ type: 'chunk', id })})`,
      );
    }
    return text;
  },
};

/** Declarations keep the names of sources in their imports; TypeScript renames those of the JavaScript only. */
const SOURCE_NAME = /(?<=')(\.\.?\/[^'\n]+)\.ts(?=')/g;

function compileClient(root: string, folder: string): void {
  // Not from `.bin`, where Windows has a batch file.
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [compiler, '-p', 'tsconfig.client.json', '--outDir', folder];
  const { status, error } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (error) throw error;
  if (status !== 0) throw new Error('The client does not compile.');
  for (const name of globSync('*.d.ts', { cwd: folder })) {
    const file = join(folder, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(SOURCE_NAME, '$1.js'));
  }
}

function replaceFolder(folder: string, fresh: string, stale: string): void {
  if (existsSync(folder)) renameSync(folder, stale);
  renameSync(fresh, folder);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await compile(join(import.meta.dirname, '..', '..'));
}
