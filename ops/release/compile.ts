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
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Compiles `src/` into `build/lib`: JavaScript, the types of `plant-store/client`, and the migrations. The package
 * needs it, because Node does not strip types in `node_modules`; a checkout runs `src/` directly.
 *
 * Replaces the previous build only when the new one is complete.
 */
export function compile(root: string): void {
  const build = join(root, 'build');
  mkdirSync(build, { recursive: true });
  const workplace = mkdtempSync(join(build, '.lib-'));
  const fresh = join(workplace, 'fresh');
  try {
    tsc(root, 'tsconfig.build.json', fresh);
    tsc(root, 'tsconfig.client.json', fresh);
    for (const file of globSync('**/*.{js,d.ts}', { cwd: fresh })) nameCompiledFiles(join(fresh, file));
    copyMigrations(root, fresh);
    const client = join(workplace, 'client');
    cpSync(join(fresh, 'packages', 'client', 'src'), client, { recursive: true });
    replaceFolder(join(root, 'packages', 'client', 'build'), client, join(workplace, 'stale-client'));
    replaceFolder(join(build, 'lib'), fresh, join(workplace, 'stale'));
  } finally {
    rmSync(workplace, { recursive: true, force: true });
  }
}

function tsc(root: string, project: string, folder: string): void {
  // Not from `.bin`, where Windows has a batch file.
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status, error } = spawnSync(process.execPath, [compiler, '-p', project, '--outDir', folder], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${project} does not compile.`);
}

const SOURCE_NAME = /(?<=')(\.\.?\/[^'\n]+)\.ts(?=')/g;

/** TypeScript renames imports, but neither the files of threads nor the imports of declarations. */
function nameCompiledFiles(file: string): void {
  const text = readFileSync(file, 'utf8');
  const named = text.replace(SOURCE_NAME, '$1.js');
  if (named !== text) writeFileSync(file, named);
}

function copyMigrations(root: string, folder: string): void {
  for (const file of globSync('src/**/*.sql', { cwd: root })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
}

function replaceFolder(folder: string, fresh: string, stale: string): void {
  if (existsSync(folder)) renameSync(folder, stale);
  renameSync(fresh, folder);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  compile(join(import.meta.dirname, '..', '..'));
}
