import { AppError } from '../../errors.ts';
import { createCsvReader, type Delimiter } from '../../import/csv.ts';
import { createArrayReader, createLinesReader, type JsonText, type TextReader } from '../../import/json.ts';
import { type Columns, columnsOf, type Row, reportedCells, rowOf, rowOfJson } from '../../import/rows.ts';
import { type JsonValue, parseJson } from '../../json/json.ts';
import type { PlantFormat } from '../export/formats.ts';
import { imports } from '../limits.ts';

export type ImportRow = {
  /** Its position among the rows, from 1: the same on every read. */
  number: number;
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
  return createObjectReader(
    format === 'json' ? createArrayReader(imports.rowLength) : createLinesReader(imports.rowLength),
  );
}

function createTableReader(): TextReader<ImportRow> {
  const reader = createCsvReader(imports.rowLength);
  let columns: Columns | undefined;
  let titles: readonly string[] = [];
  let number = 0;

  function take(records: ReturnType<typeof reader.push>): ImportRow[] {
    const rows: ImportRow[] = [];
    for (const record of records) {
      if (columns === undefined) {
        if (record.problem !== undefined) throw new Error(`The first line cannot be read. ${record.problem}`);
        columns = columnsOf(record.cells);
        titles = columns.own.map(({ title }) => title);
        continue;
      }
      const known = columns;
      const row = rowOf(known, record);
      const cells = () => reportedCells(known, record);
      rows.push({ number: ++number, row, cells, titles, delimiter: reader.delimiter() });
    }
    return rows;
  }

  return {
    push: (text) => take(reader.push(text)),
    end() {
      const rows = take(reader.end());
      if (columns === undefined) throw new Error('The file is empty; its first line must name the columns.');
      return rows;
    },
  };
}

function createObjectReader(reader: TextReader<JsonText>): TextReader<ImportRow> {
  let number = 0;

  const take = (texts: readonly JsonText[]): ImportRow[] =>
    texts.map(({ line, text }) => {
      number++;
      const value = readValue(text);
      // The service's message for the same problem in a request body.
      const row =
        value instanceof AppError
          ? { line, problem: value.message.replace('The body', 'The row') }
          : rowOfJson(value, line);
      return { number, row, cells: () => cellsOf(value, text), titles: ['id', 'name', 'tag'] };
    });

  return {
    push: (text) => take(reader.push(text)),
    end: () => take(reader.end()),
  };
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
  const isKnown = typeof id !== 'string' && Object.keys(others).length === 0;
  const isShown = isKnown && cells.every((cell) => typeof cell === 'string');
  return isShown ? cells : [text.trim()];
}
