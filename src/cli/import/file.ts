import { createHash, type Hash } from 'node:crypto';
import { createReadStream, fstatSync, open, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import { Failure } from '../failure.ts';
import { imports } from '../limits.ts';
import { systemReasonOrCode } from '../service/system-failure.ts';
import { createRowReader, type ImportFormat, type ImportRow } from './rows.ts';

/** A file that was read once from end to end, so that nothing in it can surprise an import that runs. */
export type ImportFile = {
  /** SHA-256 of the content, as hexadecimal digits. */
  sha256: string;
  rows: number;
  /** Whether every row that can be sent has an id. */
  hasIds: boolean;
};

/** Where the text of an import comes from, in pieces of bytes. */
export type Bytes = AsyncIterable<Uint8Array>;

/** Whether it can be read twice: a file, not a pipe. Throws a `Failure` where there is none. */
export function isRereadable(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch (cause) {
    throw new Failure(`${path} cannot be read: ${systemReasonOrCode(cause)}.`, { cause });
  }
}

/** The bytes of a file from its beginning. */
export function bytesOf(path: string): Readable {
  return createReadStream(path, { highWaterMark: imports.readBytes });
}

/** The bytes of what can be read only once; `-` is standard input. */
export async function pipedBytes(path: string): Promise<Readable> {
  if (path === '-') return process.stdin;
  const fd = await promisify(open)(path, 'r');
  // Unlike a file, a socket can be left while it waits for bytes.
  if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: true, writable: false });
  return createReadStream(path, { fd, highWaterMark: imports.readBytes });
}

/** Ends the bytes when the import stops, also while none come: `rowsOf` then ends, too. */
export function endWith(stopping: AbortSignal, bytes: Readable): Readable {
  // Whoever reads them is told; somebody who does not read yet, or any more, need not be.
  bytes.on('error', () => {});
  return addAbortSignal(stopping, bytes);
}

/**
 * Reads a file to its end, or until it is stopped. Throws a `Failure` when the file is not what its format says.
 *
 * @param onRows called with all rows, some at a time
 */
export async function inspect(
  bytes: Bytes,
  name: string,
  format: ImportFormat,
  onRows: (rows: readonly ImportRow[]) => void,
): Promise<ImportFile> {
  const hash = createHash('sha256');
  let rows = 0;
  let hasIds = true;
  for await (const some of rowsOf(hashed(bytes, hash), name, format)) {
    rows += some.length;
    hasIds &&= some.every(({ row }) => !('draft' in row) || row.draft.id !== undefined);
    onRows(some);
  }
  return { sha256: hash.digest('hex'), rows, hasIds };
}

async function* hashed(bytes: Bytes, hash: Hash): Bytes {
  for await (const piece of bytes) {
    hash.update(piece);
    yield piece;
  }
}

/**
 * The rows of a file, some at a time, until the file ends or its reading was aborted. Throws a `Failure` where it cannot
 * be read on.
 *
 * @param name of the file, for a person
 */
export async function* rowsOf(bytes: Bytes, name: string, format: ImportFormat): AsyncGenerator<ImportRow[]> {
  const reader = createRowReader(format);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const piece of bytes) yield reader.push(decoder.decode(piece, { stream: true }));
    yield [...reader.push(decoder.decode()), ...reader.end()];
  } catch (error) {
    if (!isAbort(error)) throw unreadable(name, error);
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

function unreadable(name: string, error: unknown): unknown {
  if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
    return new Failure(
      `${name} is not text in UTF-8. Save it as UTF-8 ("CSV UTF-8" in a spreadsheet), and import that.`,
      { cause: error },
    );
  }
  if (error instanceof Error && 'syscall' in error) {
    return new Failure(`${name} cannot be read: ${systemReasonOrCode(error)}.`, { cause: error });
  }
  return error instanceof Error && error.constructor === Error
    ? new Failure(`${name} cannot be read. ${error.message}`, { cause: error })
    : error;
}
