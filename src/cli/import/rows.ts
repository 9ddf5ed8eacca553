import { AppError } from '../../errors.ts';
import { createCsvReader, type Delimiter } from '../../import/csv.ts';
import { createArrayReader, createLinesReader } from '../../import/json.ts';
import { type Columns, columnsOf, type Row, reportedCells, rowOf, rowOfJson } from '../../import/rows.ts';
import type { TextReader } from '../../import/text.ts';
import { type JsonValue, parseJson } from '../../json/json.ts';
import type { PlantFormat } from '../export/formats.ts';
import { imports } from '../limits.ts';

export type ImportRow = {
  row: Row;
  /** Its cells for an error report, without the columns that an earlier report added. */
  cells(): readonly string[];
  titles: readonly string[];
  /** Of the report; a file's own. */
  delimiter?: Delimiter | undefined;
};

/** A reader that holds no more than one row. */
export function createRowReader(format: PlantFormat): TextReader<ImportRow> {
  if (format === 'csv') return createTableReader();
  const createReader = format === 'json' ? createArrayReader : createLinesReader;
  return mapped(createReader(imports.rowLength), ({ line, text }) => {
    const value = readValue(text);
    // The service's message for the same problem in a request body.
    const row =
      value instanceof AppError
        ? { line, problem: value.message.replace('The body', 'The row') }
        : rowOfJson(value, line);
    return { row, cells: () => cellsOf(value, text), titles: ['id', 'name', 'tag'] };
  });
}

function createTableReader(): TextReader<ImportRow> {
  const reader = createCsvReader(imports.rowLength);
  let columns: Columns | undefined;
  let titles: readonly string[] = [];

  const rows = mapped(reader, (record) => {
    if (columns !== undefined) {
      const known = columns;
      const cells = () => reportedCells(known, record);
      return { row: rowOf(known, record), cells, titles, delimiter: reader.delimiter() };
    }
    if (record.problem !== undefined) throw new Error(`The first line cannot be read. ${record.problem}`);
    columns = columnsOf(record.cells);
    titles = columns.own.map(({ title }) => title);
    return undefined;
  });

  return {
    push: rows.push,
    end() {
      const last = rows.end();
      if (columns === undefined) throw new Error('The file is empty; its first line must name the columns.');
      return last;
    },
  };
}

/** @param read undefined for the names of the columns */
function mapped<Item>(
  reader: TextReader<Item>,
  read: (item: Item) => ImportRow | undefined,
): TextReader<ImportRow> {
  const rows = (items: readonly Item[]) => items.flatMap((item) => read(item) ?? []);
  return { push: (text) => rows(reader.push(text)), end: () => rows(reader.end()) };
}

function readValue(text: string): JsonValue | AppError {
  try {
    return parseJson(Buffer.from(text));
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/**
 * A null becomes an empty cell. A row that cells would change otherwise becomes one, with the original: without its
 * mistake the report could be imported as it is.
 */
function cellsOf(value: JsonValue | AppError, text: string): string[] {
  if (value instanceof AppError || typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [text.trim()];
  }
  const { id, name, tag, ...others } = value;
  const cells = [typeof id === 'bigint' ? String(id) : id, name, tag].map((member) => member ?? '');
  const isKnown = typeof id !== 'string' && tag !== '' && Object.keys(others).length === 0;
  const isShown = isKnown && cells.every((cell) => typeof cell === 'string');
  return isShown && cells.join().isWellFormed() ? cells : [text.trim()];
}
