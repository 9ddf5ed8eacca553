/** A record of a CSV file. */
export type CsvRecord = {
  /** Where it begins, from 1. */
  line: number;
  /** Of a record with a problem: the text of that line, as one cell. */
  cells: string[];
  /** Why its cells cannot be told apart, in a sentence; undefined when they can. */
  problem?: string;
};

/** Takes the text of a CSV file in pieces, cut anywhere. */
export type CsvReader = {
  /** The records that are complete by now. Throws an `Error` with a sentence for one that is too long. */
  push(text: string): CsvRecord[];
  /** The last record, which needs no line break behind it. To be called once, after the last piece. */
  end(): CsvRecord[];
};

/**
 * Reads CSV (RFC 4180): commas, double quotes, lines that end in LF or CRLF. Empty lines are passed over. A record
 * whose quotes are wrong has a problem, and the next line is read as a record again, so that one slip costs one row.
 *
 * @param longest how many characters a record may have
 */
export function createCsvReader(longest: number): CsvReader {
  let text = '';
  /** Where the next record begins, in `text` and in the file. */
  let at = 0;
  let line = 1;

  function take(isLast: boolean): CsvRecord[] {
    const records: CsvRecord[] = [];
    while (at < text.length) {
      const found = readRecord(text, at, isLast || text.length - at > longest);
      if (found === undefined) break;
      if (found.end - at > longest) throw tooLong(line, longest);
      const { cells, problem } = found;
      if (problem !== undefined) records.push({ line, cells, problem });
      else if (cells.length !== 1 || cells[0] !== '' || found.isQuoted) records.push({ line, cells });
      line += found.lines;
      at = found.end;
    }
    text = text.slice(at);
    at = 0;
    if (!isLast && text.length > longest) throw tooLong(line, longest);
    return records;
  }

  return {
    push(piece) {
      text += piece;
      return take(false);
    },
    end: () => take(true),
  };
}

function tooLong(line: number, longest: number): Error {
  return new Error(
    `Line ${line} is longer than the ${longest} characters that a row may have. Is this a CSV file?`,
  );
}

type Found = {
  cells: string[];
  problem?: string;
  /** Whether it has a quoted cell: `""` alone is a record, an empty line is none. */
  isQuoted: boolean;
  /** Behind its line break. */
  end: number;
  /** The line breaks in it, its own included. */
  lines: number;
};

/** A cell, quoted or not, and what ends it; nothing at the end of the text. */
const CELL = /(?:"([^"]*(?:""[^"]*)*)"|([^",\n]*?))(,|\r?\n|$)/y;
/** A quoted cell whose end may follow. */
const CUT = /"[^"]*(?:""[^"]*)*(?:"\r)?$/y;

const QUOTES_RULE =
  'The double quotes are wrong. Put the whole value in double quotes, and write each double quote in it twice.';

/** Undefined when the record may continue after the end of the text. `isWhole`: nothing follows. */
function readRecord(text: string, start: number, isWhole: boolean): Found | undefined {
  const end = text.indexOf('\n', start) + 1 || (isWhole ? text.length : 0);
  if (end === 0) return undefined;
  const lineBreak = text[end - 1] !== '\n' ? 0 : text[end - 2] === '\r' ? 2 : 1;
  const line = text.slice(start, end - lineBreak);
  if (!line.includes('"')) return { cells: line.split(','), isQuoted: false, end, lines: 1 };

  const broken = (problem: string): Found => ({ cells: [line], problem, isQuoted: true, end, lines: 1 });
  const cells: string[] = [];
  let at = start;
  for (;;) {
    CELL.lastIndex = CUT.lastIndex = at;
    const found = CELL.exec(text);
    if (found === null) {
      if (!CUT.test(text)) return broken(QUOTES_RULE);
      return isWhole ? broken('A double quote is opened in this line and never closed.') : undefined;
    }
    const [{ length }, quoted, plain = '', separator] = found;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    at += length;
    if (separator === ',') continue;
    if (separator === '' && !isWhole) return undefined;
    return { cells, isQuoted: true, end: at, lines: text.slice(start, at).split('\n').length - 1 };
  }
}

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;

/** A record as text, with its line break (RFC 4180's CRLF is left to those who need it). */
export function csvLine(cells: readonly string[]): string {
  const written = cells.map((cell) => (NEEDS_QUOTES.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell));
  // One empty cell alone would be an empty line, which is no record.
  return `${written.length === 1 && written[0] === '' ? '""' : written.join()}\n`;
}
