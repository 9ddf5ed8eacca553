import { randomUUID } from 'node:crypto';
import { constants, existsSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { openFile, placeFile } from '../../store/sqlite/files/durable-files.ts';
import { Failure } from '../failure.ts';
import { imports } from '../limits.ts';
import { codeOf, systemReasonOrCode } from '../service/system-failure.ts';

/** The one line beside a file that is being imported: what started, and when. */
export type Marker = {
  sha256: string;
  url: string;
  /** Undefined if the service did not tell, or an earlier version did not ask. */
  user?: string | undefined;
  begunAt: string;
  /** Part of every key. Empty, unless every row is added again. */
  run: string;
};

/** Undefined when no marker exists. Throws a `Failure` for any other file of that name. */
export function readMarker(path: string): Marker | undefined {
  const line = headOf(path, imports.markerBytes);
  if (line === undefined) return undefined;
  try {
    // Only `createMarker` writes these files, with strings only; anything else fails the check below.
    const { sha256, url, user, begunAt, run } = JSON.parse(line) as Marker;
    if (/^[0-9a-f]{64} [0-9a-f]* https?:/.test(`${sha256} ${run} ${url}`) && Date.parse(begunAt) > 0) {
      return { sha256, url, user, begunAt, run };
    }
  } catch {}
  throw new Failure(`${path} is not the marker of an import. Rename or remove it.`);
}

/** Up to `length` bytes from the start of a file. Undefined when it does not exist. Throws a `Failure` for a link. */
export function headOf(path: string, length: number): string | undefined {
  try {
    // Non-blocking: opening a pipe must not wait for its writer.
    using file = openFile(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const bytes = Buffer.alloc(length);
    return bytes.toString('utf8', 0, readSync(file.fd, bytes));
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new Failure(`${path} cannot be read: ${systemReasonOrCode(cause)}. Rename or remove it.`, {
      cause,
    });
  }
}

/** The marker is complete and on disk before the first row is sent, and never replaces another file. */
export function createMarker(path: string, marker: Marker): void {
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${JSON.stringify(marker)}\n`, { flag: 'wx', mode: 0o600, flush: true });
    if (placeFile(draft, path)) return;
  } catch (cause) {
    throw new Failure(
      `The marker of the import, ${path}, cannot be written: ${systemReasonOrCode(cause)}. Copy the file to a folder you can write to, and import it there.`,
      { cause },
    );
  } finally {
    if (existsSync(draft)) rmSync(draft);
  }
  throw new Failure(`${path} was created just now: another import of this file is running.`);
}

export function removeMarker(path: string): void {
  rmSync(path, { force: true });
}
