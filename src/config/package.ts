import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of the package: the checkout, or where npm installed it. The code is at a different depth in each. */
export const packageFolder: string = folderAbove(import.meta.dirname);

// Written by npm, or by us.
const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
  version: string;
  peerDependencies: Readonly<Record<string, string>>;
};

/** The version of the program. */
export const { version } = manifest;

/** The packages that only traces need, by name, with their version ranges. */
export const tracePackages = manifest.peerDependencies;

function folderAbove(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : folderAbove(dirname(folder));
}
