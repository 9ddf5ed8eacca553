import { parse } from 'csv-parse/browser/esm/sync';
import { type Columns, columnsOf, type Row, rowOf } from '../../../src/import/rows.ts';

/** A row as the file has it, and what it asks for. */
export type FileRow = { cells: readonly string[]; row: Row };

export type PlantFile = {
  name: string;
  columns: Columns;
  rows: readonly FileRow[];
  /** The same for the same content. It proves nothing. */
  fingerprint: string;
};

/** What a tab holds in memory without trouble; for more there is the command line, which needs none. */
const MOST_BYTES = 32 * 2 ** 20;

/**
 * Reads a CSV file of plants.
 *
 * @throws Error with a sentence for a person when the file as a whole cannot be read.
 */
export async function readPlantFile(file: File): Promise<PlantFile> {
  if (file.size > MOST_BYTES) {
    throw new Error(
      'The file is larger than 32 MiB. The command "plant-store plant import" takes files of any size.',
    );
  }
  const text = decode(await file.arrayBuffer());
  const [header, ...records] = recordsOf(text);
  if (!header) throw new Error('The file is empty. Its first line names the columns, such as: id,name,tag');
  const columns = columnsOf(header.cells);
  const rows = records.map(({ cells, line }) => ({ cells, row: rowOf(columns, cells, line) }));
  return { name: file.name, columns, rows, fingerprint: fingerprintOf(text) };
}

function decode(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error('The file is not UTF-8. Save it as "CSV UTF-8" and choose it again.', { cause });
  }
}

type CsvRecord = { cells: string[]; line: number };

/** Every record that is no empty line, with the line where it begins. */
function recordsOf(text: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let begins = 1;
  try {
    parse(text, {
      relax_column_count: true,
      on_record(cells: string[], { lines }) {
        if (cells.length > 1 || cells[0] !== '') records.push({ cells, line: begins });
        // `lines` is where the record ends: a cell in quotes may hold several.
        begins = lines + 1;
        return null;
      },
    });
  } catch (cause) {
    throw new Error(
      `The file is not CSV from line ${begins} on. Look for a quote (") that is not closed there.`,
      { cause },
    );
  }
  return records;
}

/** FNV-1a, twice 32 bits: enough to tell the few files apart that a person imports. */
function fingerprintOf(text: string): string {
  let [a, b] = [0x811c9dc5, 0x050c5d1f];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit ^ (at & 0xff), 0x01000193);
  }
  return `${(a >>> 0).toString(36)}-${(b >>> 0).toString(36)}-${text.length.toString(36)}`;
}
