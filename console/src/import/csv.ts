import { createCsvReader, type Delimiter } from '../../../src/import/csv.ts';
import { type Columns, columnsOf, type Row, reportedCells, rowOf } from '../../../src/import/rows.ts';

/** The plant of a row, its name, and its cells for a report. */
export type FileRow = { row: Row; name: string; reported: readonly string[] };

export type PlantFile = {
  name: string;
  columns: Columns;
  delimiter: Delimiter | undefined;
  rows: readonly FileRow[];
  /** Equal for equal content. It proves nothing. */
  fingerprint: string;
};

/** What a tab can hold in memory; the command line imports larger files. */
const MOST_BYTES = 32 * 2 ** 20;
/** The longest row: many times the longest plant. */
const MOST_CHARACTERS = 65_536;

/**
 * Reads a CSV file of plants.
 * @throws Error with a sentence for a person when the file as a whole cannot be read.
 */
export async function readPlantFile(file: File): Promise<PlantFile> {
  if (file.size > MOST_BYTES) {
    throw new Error(
      'The file is larger than 32 MiB. The command "plant-store plant import" takes files of any size.',
    );
  }
  const text = decode(await file.arrayBuffer());
  const reader = createCsvReader(MOST_CHARACTERS);
  const [header, ...records] = [...reader.push(text), ...reader.end()];
  if (!header)
    throw new Error('The file is empty. Its first line must name the columns, such as: id,name,tag');
  if (header.problem !== undefined) throw new Error(`The first line cannot be read. ${header.problem}`);
  const columns = columnsOf(header.cells);
  if (records.length === 0) throw new Error('The file has no rows, only the line that names the columns.');
  const rows = records.map((record) => ({
    row: rowOf(columns, record),
    name: record.cells[record.problem === undefined ? columns.name : 0] ?? '',
    reported: reportedCells(columns, record),
  }));
  return { name: file.name, columns, delimiter: reader.delimiter(), rows, fingerprint: fingerprintOf(text) };
}

function decode(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error('The file is not UTF-8. Save it as "CSV UTF-8" and choose it again.', { cause });
  }
}

/** FNV-1a, twice 32 bits: enough to distinguish the few files that a person imports. */
function fingerprintOf(text: string): string {
  let [a, b] = [0x811c9dc5, 0x050c5d1f];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit ^ (at & 0xff), 0x01000193);
  }
  return `${(a >>> 0).toString(36)}-${(b >>> 0).toString(36)}-${text.length.toString(36)}`;
}
