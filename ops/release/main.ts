import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };
import client from '../../packages/client/package.json' with { type: 'json' };
import { isUnreleased, releaseNotes } from './notes.ts';
import { settledSbom, withoutDevelopment } from './sbom.ts';

/**
 * `npm run release`: writes the package, its release notes, an SBOM (CycloneDX) and their checksums to `build/release`.
 * The same sources give the same bytes. Publishes nothing.
 */
const root = join(import.meta.dirname, '..', '..');
const folder = join(root, 'build', 'release');
const { name, version } = manifest;
const files = {
  tarball: `${name}-${version}.tgz`,
  client: `${client.name}-${client.version}.tgz`,
  notes: `${name}-${version}.md`,
  sbom: `${name}-${version}.cdx.json`,
};

const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
const notes = releaseNotes(changelog, version);
if (isUnreleased(changelog, version)) {
  console.error(`CHANGELOG.md says that ${version} is unreleased: put the day there before you publish.`);
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, files.notes), notes);
// Builds everything, because packing runs `prepare`.
npm(root, ['pack', '--pack-destination', folder], 2);
npm(root, ['pack', '--workspace', client.name, '--pack-destination', folder], 2);
writeFileSync(join(folder, files.sbom), sbom());
writeFileSync(join(folder, 'SHA256SUMS'), Object.values(files).sort().map(checksum).join(''));

for (const file of [...Object.values(files), 'SHA256SUMS']) console.log(join('build', 'release', file));

/** The package's dependencies in the tested versions; npm may install newer ones. */
function sbom(): string {
  const place = mkdtempSync(join(tmpdir(), 'plant-store-sbom-'));
  try {
    const running = withoutDevelopment(manifest, lock);
    writeFileSync(join(place, 'package.json'), JSON.stringify(running.manifest));
    writeFileSync(join(place, 'package-lock.json'), JSON.stringify(running.lock));
    const form = ['--sbom-format=cyclonedx', '--sbom-type=application'];
    return settledSbom(npm(place, ['sbom', '--package-lock-only', ...form], 'pipe'), name);
  } finally {
    rmSync(place, { recursive: true });
  }
}

/** Runs npm and returns its piped output. Its other output is for people. */
function npm(cwd: string, args: string[], output: 'pipe' | 2): string {
  const { status, stdout, error } = spawnSync('npm', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', output, 2],
    maxBuffer: 2 ** 26,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`npm ${args[0]} failed.`);
  return stdout ?? '';
}

/** A line for `sha256sum --check`. */
function checksum(file: string): string {
  const hash = createHash('sha256').update(readFileSync(join(folder, file)));
  return `${hash.digest('hex')}  ${file}\n`;
}
