// Runs after `npm ci` and before packing: builds console, docs and package, if the build tools are installed.
// Plain JavaScript, because older versions of Node run it too: the npm packages include Node 26.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const canBuild = existsSync(new URL('../../node_modules/vite/package.json', import.meta.url));
const command = process.env.npm_command ?? '';
const isPacking = ['pack', 'publish'].includes(command);
// The first `npx plant-store` in a checkout runs this too: npm links the folder like an installed package.
const isRunning = command === 'exec';

if (canBuild && !isRunning) {
  const options = { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' };
  const { status, error } = spawnSync('npm', ['run', '--silent', 'build'], options);
  if (error) throw error;
  process.exitCode = status ?? 1;
} else if (!isRunning) {
  // An installation continues without the pages, since the API does not need them; packing without them must fail.
  console.error(
    'The console and the docs are not built: building needs the development packages. Run "npm ci".',
  );
  process.exitCode = isPacking ? 1 : 0;
}
