import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A Chromium on this machine, and its environment. */
export type Chromium = { executablePath: string; env: Record<string, string> };

const modules = join(import.meta.dirname, '..', '..', 'node_modules');

/** The one that CHROMIUM_PATH names, otherwise npm's, unpacked on first use. */
export async function findChromium(): Promise<Chromium> {
  const { CHROMIUM_PATH: named } = process.env;
  if (named) return { executablePath: named, env: {} };
  const { version } = JSON.parse(readFileSync(join(modules, '@sparticuz/chromium/package.json'), 'utf8'));
  const folder = join(modules, '.cache', `chromium-${version}`);
  if (!existsSync(folder)) await unpackInto(folder);
  return {
    executablePath: join(folder, 'chromium'),
    // Without these libraries it starts only where a browser was installed before.
    env: { LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'), FONTCONFIG_FILE: join(folder, 'fonts.conf') },
  };
}

/** Test files may start at once: each unpacks for itself, and the first to finish wins. */
async function unpackInto(folder: string): Promise<void> {
  const cache = join(modules, '.cache');
  await mkdir(cache, { recursive: true });
  const own = await mkdtemp(join(cache, 'unpacking-'));
  try {
    const env = { ...process.env, TMPDIR: own };
    await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'unpack.ts')], { env });
    await writeFile(join(own, 'fonts.conf'), fontsIn(folder));
    await rename(own, folder).catch((error) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** Its own fonts come before the machine's, so that screenshots look alike everywhere. */
function fontsIn(folder: string): string {
  const prefer = ['system-ui', 'sans-serif', 'serif'].map(
    (family) =>
      `<alias binding="strong"><family>${family}</family><prefer><family>Open Sans</family></prefer></alias>`,
  );
  return [
    '<?xml version="1.0"?>',
    '<fontconfig>',
    `<dir>${join(folder, 'fonts', 'fonts')}</dir>`,
    `<cachedir>${join(folder, 'fonts-cache')}</cachedir>`,
    ...prefer,
    '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>',
    '</fontconfig>',
  ].join('\n');
}
