// What npm runs behind `npm ci` and before it packs: builds console, docs and package, if what builds them is there.
// Plain JavaScript that older versions of Node understand as well: it is the npm packages that bring Node 26.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const canBuild = existsSync(new URL('../../node_modules/vite/package.json', import.meta.url));
const command = process.env.npm_command ?? '';
const isPacking = ['pack', 'publish'].includes(command);
// The first `npx plant-store` in a checkout comes here, too: npm links the folder like a package that it installs.
const isRunning = command === 'exec';

if (canBuild && !isRunning) {
  const options = { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' };
  const { status, error } = spawnSync('npm', ['run', '--silent', 'build'], options);
  if (error) throw error;
  process.exitCode = status ?? 1;
} else if (!isRunning) {
  // An installation goes on: the API needs none of it. A package without its pages must not be made.
  console.error('The console and the docs are not built: that takes the development packages. Run "npm ci".');
  process.exitCode = isPacking ? 1 : 0;
}
