import { createHash } from 'node:crypto';

type Lock = { packages: Readonly<Record<string, object>> };

/**
 * Removes everything only development needs from `package.json` and `package-lock.json`. npm's own `--omit=dev` also
 * omits what both need, such as `pg` (npm 11.19).
 */
export function withoutDevelopment(manifest: object, lock: Lock): { manifest: object; lock: Lock } {
  const packages = Object.entries(lock.packages)
    .filter(([path, entry]) => isInstalled(path) && !('dev' in entry || 'link' in entry))
    .map(([path, entry]) => [path, withoutOurs(entry)]);
  return {
    manifest: withoutOurs(manifest),
    lock: { ...lock, packages: Object.fromEntries(packages) },
  };
}

function isInstalled(path: string): boolean {
  return path === '' || path.startsWith('node_modules/');
}

function withoutOurs(object: object): object {
  return Object.fromEntries(
    Object.entries(object).filter(([name]) => name !== 'devDependencies' && name !== 'workspaces'),
  );
}

/** The parts of npm's CycloneDX document that change here. */
type Sbom = {
  serialNumber?: string;
  metadata: { timestamp?: string; component: { name: string } };
};

/**
 * Makes npm's document reproducible: no time, and a serial number derived from the content. Also sets the name, for
 * which npm uses the folder's.
 */
export function settledSbom(text: string, name: string): string {
  // The shape that CycloneDX 1.5 prescribes.
  const sbom = JSON.parse(text) as Sbom;
  delete sbom.serialNumber;
  delete sbom.metadata.timestamp;
  sbom.metadata.component.name = name;
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(sbom))}`;
  return `${JSON.stringify({ ...sbom, serialNumber }, null, 2)}\n`;
}

/** A UUID from a hash: version 8 of RFC 9562, §5.8. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
