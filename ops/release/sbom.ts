import { createHash } from 'node:crypto';

type Lock = { packages: Readonly<Record<string, object>> };

/**
 * `package.json` and `package-lock.json` as they would be without what only development needs, and without workspaces,
 * which are part of the program. npm's own `--omit=dev` also leaves out what both need, such as `pg` (npm 11.19).
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

/** The members of npm's CycloneDX document that are changed here. */
type Sbom = {
  serialNumber?: string;
  metadata: { timestamp?: string; component: { name: string } };
};

/**
 * npm's document, made the same for the same input: without the time, and with a serial number that follows from the
 * rest. npm names the program by the folder that it is in.
 */
export function settledSbom(text: string, name: string): string {
  // The shape that CycloneDX 1.5 gives it, and npm keeps to.
  const sbom = JSON.parse(text) as Sbom;
  delete sbom.serialNumber;
  delete sbom.metadata.timestamp;
  sbom.metadata.component.name = name;
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(sbom))}`;
  return `${JSON.stringify({ ...sbom, serialNumber }, null, 2)}\n`;
}

/** A UUID out of a hash: version 8 of RFC 9562, §5.8. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
