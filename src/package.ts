import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of the package: the checkout, or where npm installed it. The code is at another depth in each. */
export const packageFolder: string = folderAbove(import.meta.dirname);

/** The version of the program, as its package says. */
export const version: string = versionIn(packageFolder);

function folderAbove(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : folderAbove(dirname(folder));
}

function versionIn(folder: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isManifest ? String(manifest.version) : '';
}
