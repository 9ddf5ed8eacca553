import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { Failure } from './failure.ts';
import { createRowReader, type ImportFormat, type ImportRow } from './import-rows.ts';
import { imports } from './limits.ts';

/** A file that was read once from end to end, so that nothing in it can surprise an import that runs. */
export type ImportFile = {
  /** SHA-256 of what is in it, as hexadecimal digits. */
  sha256: string;
  rows: number;
};

/** Where the text of an import comes from, in pieces of bytes. */
export type Bytes = AsyncIterable<Uint8Array>;

/** Whether it can be read twice: a file, not a pipe. Throws a `Failure` where there is none. */
export function isRereadable(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch (cause) {
    throw new Failure(`${path} cannot be read: ${reasonOf(cause)}.`, { cause });
  }
}

/** The bytes of a file from its beginning. */
export function bytesOf(path: string): Bytes {
  return createReadStream(path, { highWaterMark: imports.readBytes });
}

/**
 * Reads a file to its end, or until it is stopped. Throws a `Failure` when the file is not what its format says.
 *
 * @param onRead is told now and then that there is more
 */
export async function inspect(
  path: string,
  format: ImportFormat,
  { stopping, onRead }: { stopping: AbortSignal; onRead(): void },
): Promise<ImportFile> {
  const hash = createHash('sha256');
  let rows = 0;
  for await (const some of rowsOf(hashed(bytesOf(path), hash), path, format)) {
    rows += some.length;
    onRead();
    if (stopping.aborted) throw new Failure('Stopped before anything was sent.');
  }
  return { sha256: hash.digest('hex'), rows };
}

async function* hashed(bytes: Bytes, hash: { update(piece: Uint8Array): unknown }): Bytes {
  for await (const piece of bytes) {
    hash.update(piece);
    yield piece;
  }
}

/**
 * The rows of a file, some at a time. Throws a `Failure` where it cannot be read on.
 *
 * @param name of the file, for a person
 * @param onTitles is told what stands above the cells in an error report, before the first row
 */
export async function* rowsOf(
  bytes: Bytes,
  name: string,
  format: ImportFormat,
  onTitles: (titles: readonly string[]) => void = () => {},
): AsyncGenerator<ImportRow[]> {
  const reader = createRowReader(format);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let isFirst = true;
  function* given(rows: ImportRow[]) {
    if (rows.length === 0) return;
    if (isFirst) onTitles(reader.titles());
    isFirst = false;
    yield rows;
  }
  try {
    for await (const piece of bytes) yield* given(reader.push(decoder.decode(piece, { stream: true })));
    yield* given([...reader.push(decoder.decode()), ...reader.end()]);
  } catch (error) {
    throw unreadable(name, error);
  }
}

function unreadable(name: string, error: unknown): unknown {
  if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
    return new Failure(
      `${name} is not text in UTF-8. Save it as UTF-8 ("CSV UTF-8" in a spreadsheet), and import that.`,
      {
        cause: error,
      },
    );
  }
  if (error instanceof Error && 'syscall' in error) {
    return new Failure(`${name} cannot be read: ${reasonOf(error)}.`, { cause: error });
  }
  return error instanceof Error && error.constructor === Error
    ? new Failure(`${name} cannot be read. ${error.message}`, { cause: error })
    : error;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'you may not read it',
  EISDIR: 'it is a folder',
};

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return REASONS[code] ?? code;
}
