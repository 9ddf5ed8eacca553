import { createHash, type Hash } from 'node:crypto';
import { createReadStream, fstatSync, open, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import type { PlantFormat } from '../export/formats.ts';
import { Failure } from '../failure.ts';
import { imports } from '../limits.ts';
import { systemReasonOrCode } from '../service/system-failure.ts';
import { createRowReader, type ImportRow } from './rows.ts';

type Bytes = AsyncIterable<Uint8Array>;

/** Whether the path can be read twice: a file, not a pipe. Throws a `Failure` when it does not exist. */
export function isRereadable(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch (cause) {
    throw new Failure(`${path} cannot be read: ${systemReasonOrCode(cause)}.`, { cause });
  }
}

export function bytesOf(path: string): Readable {
  return createReadStream(path, { highWaterMark: imports.readBytes });
}

/** Bytes that can be read only once; `-` is standard input. */
export async function pipedBytes(path: string): Promise<Readable> {
  if (path === '-') return process.stdin;
  const fd = await promisify(open)(path, 'r');
  // Unlike a file, a socket can be closed while it waits for bytes.
  if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: true, writable: false });
  return createReadStream(path, { fd, highWaterMark: imports.readBytes });
}

/** Ends the bytes when the import stops, even while it waits for more; `rowsOf` then ends, too. */
export function endWith(stopping: AbortSignal, bytes: Readable): Readable {
  // A reader gets the error anyway; without a reader it must not crash the process.
  bytes.on('error', () => {});
  return addAbortSignal(stopping, bytes);
}

/**
 * Reads a file to its end, or until it is stopped, so that nothing in it surprises a running import. Throws a `Failure`
 * when the content does not match the format.
 * @param onRows called with all rows, some at a time
 */
export async function inspect(
  bytes: Bytes,
  file: string,
  format: PlantFormat,
  onRows: (rows: readonly ImportRow[]) => void,
) {
  const hash = createHash('sha256');
  let rows = 0;
  let hasIds = true;
  for await (const some of rowsOf(hashed(bytes, hash), file, format)) {
    rows += some.length;
    hasIds &&= some.every(({ row }) => !('draft' in row) || row.draft.id !== undefined);
    onRows(some);
  }
  return {
    sha256: hash.digest('hex'),
    rows,
    /** Whether every valid row has an id. */
    hasIds,
  };
}

export type ImportFile = Awaited<ReturnType<typeof inspect>>;

async function* hashed(bytes: Bytes, hash: Hash): Bytes {
  for await (const piece of bytes) {
    hash.update(piece);
    yield piece;
  }
}

/**
 * Yields the rows of a file, some at a time, until the file ends or reading is aborted. Throws a `Failure` for
 * unreadable content.
 * @param file `-` is standard input
 */
export async function* rowsOf(bytes: Bytes, file: string, format: PlantFormat): AsyncGenerator<ImportRow[]> {
  const reader = createRowReader(format);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const piece of bytes) yield reader.push(decoder.decode(piece, { stream: true }));
    yield [...reader.push(decoder.decode()), ...reader.end()];
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError'))
      throw unreadable(file === '-' ? 'Standard input' : file, error);
  }
}

function unreadable(name: string, error: unknown): unknown {
  if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
    return new Failure(
      `${name} is not UTF-8 text. Save it as UTF-8 ("CSV UTF-8" in a spreadsheet) and import it again.`,
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
