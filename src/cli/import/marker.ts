import { randomUUID } from 'node:crypto';
import { closeSync, constants, existsSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { placeFile } from '../../store/sqlite/files/durable-files.ts';
import { Failure } from '../failure.ts';
import { imports } from '../limits.ts';
import { systemReasonOrCode } from '../service/system-failure.ts';

/** The one line beside a file that is being imported: what was begun, and when. */
export type Marker = {
  /** SHA-256 of the content. */
  sha256: string;
  url: string;
  /** RFC 3339. */
  begunAt: string;
  /** Part of every key. Empty, unless every row is to be added again. */
  run: string;
};

/** Undefined when there is none. Throws a `Failure` for anything else with that name. */
export function readMarker(path: string): Marker | undefined {
  const line = headOf(path, imports.markerBytes);
  if (line === undefined) return undefined;
  try {
    // Only `createMarker` writes these files, each member a string; anything else fails the check.
    const { sha256, url, begunAt, run } = JSON.parse(line) as Marker;
    if (/^[0-9a-f]{64} [0-9a-f]* https?:/.test(`${sha256} ${run} ${url}`) && Date.parse(begunAt) > 0) {
      return { sha256, url, begunAt, run };
    }
  } catch {
    // It is not JSON.
  }
  throw new Failure(`${path} is not the marker of an import. Rename or remove it.`);
}

/** The beginning of a file, or all of it. Undefined when there is none. Throws a `Failure` for a link. */
export function headOf(path: string, length: number): string | undefined {
  try {
    // Opening a pipe must not wait for its writer.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(length);
      return bytes.toString('utf8', 0, readSync(fd, bytes));
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw new Failure(`${path} cannot be read: ${systemReasonOrCode(cause)}. Rename or remove it.`, {
      cause,
    });
  }
}

/** The marker is whole and on disk before the first row is sent, and never takes the place of another file. */
export function createMarker(path: string, marker: Marker): void {
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${JSON.stringify(marker)}\n`, { flag: 'wx', mode: 0o600, flush: true });
    if (placeFile(draft, path)) return;
  } catch (cause) {
    throw new Failure(
      `${path}, which marks a file that is being imported, cannot be written: ${systemReasonOrCode(cause)}. Copy the file to a folder that you may write to, and import it there.`,
      { cause },
    );
  } finally {
    if (existsSync(draft)) rmSync(draft);
  }
  throw new Failure(`${path} has appeared just now: another import of this file is running.`);
}

export function removeMarker(path: string): void {
  rmSync(path, { force: true });
}
