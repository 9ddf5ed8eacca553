import { createTextReader, endOfLine, type Found, type Place } from './text.ts';

/** A record of a CSV file. */
export type CsvRecord = {
  /** The line it begins in, from 1. */
  line: number;
  /** For a record with a problem, the text of that line as one cell. */
  cells: string[];
  /** Why its cells cannot be read, in a sentence; undefined if they can. */
  problem?: string;
};

export type Delimiter = ',' | ';' | '\t';

/**
 * Reads the text of a CSV file (RFC 4180), in pieces of any length: commas, double quotes, lines that end in LF or CRLF.
 * If the first record has a semicolon or a tab before any comma, that separates all cells instead: spreadsheets write
 * them where numbers have decimal commas. Skips empty lines. A record with wrong quotes has a problem, and reading
 * resumes at the next line, so that one mistake costs one row.
 * @param longest the most characters in a record
 */
export function createCsvReader(longest: number) {
  let delimiter: Delimiter | undefined;
  const tooLong = (line: number) =>
    new Error(`Line ${line} is longer than the ${longest} characters allowed for a row. Is this a CSV file?`);
  const reader = createTextReader<CsvRecord>(longest, tooLong, (place) => {
    const found = readRecord(place, delimiter);
    if (found?.item !== undefined) delimiter ??= found.delimiter;
    return found;
  });
  return {
    ...reader,
    /** What separates the cells, once the first record is read. */
    delimiter: () => delimiter,
  };
}

/** A cell, quoted or not, and what follows it: a delimiter, a line break, or nothing at the end of the text. */
const CELL = {
  ',': /(?:"([^"]*(?:""[^"]*)*)"|([^",\n]*?))(,|\r?\n|$)/y,
  ';': /(?:"([^"]*(?:""[^"]*)*)"|([^";\n]*?))(;|\r?\n|$)/y,
  '\t': /(?:"([^"]*(?:""[^"]*)*)"|([^"\t\n]*?))(\t|\r?\n|$)/y,
} as const;
/** A quoted cell that may continue after the end of the text. */
const CUT = /"[^"]*(?:""[^"]*)*(?:"\r)?$/y;

const QUOTES_RULE =
  'The double quotes are wrong. Put the whole value in double quotes, and write each double quote in it twice.';

/**
 * Undefined when the record may continue after the end of the text. An empty line is no record, but `""` alone is one.
 * @param known the delimiter; by default, the record tells
 */
function readRecord(
  place: Place,
  known: Delimiter | undefined,
): (Found<CsvRecord> & { delimiter: Delimiter }) | undefined {
  const { text, at: start, line, isWhole } = place;
  const end = endOfLine(place);
  if (end === 0) return undefined;
  const whole = text.slice(start, end).replace(/\r?\n$/, '');
  const delimiter = known ?? delimiterOf(whole);
  if (!whole.includes('"')) {
    return { item: whole === '' ? undefined : { line, cells: whole.split(delimiter) }, delimiter, end };
  }

  const broken = (problem: string) => ({ item: { line, cells: [whole], problem }, delimiter, end });
  const cell = CELL[delimiter];
  const cells: string[] = [];
  let at = start;
  for (;;) {
    cell.lastIndex = CUT.lastIndex = at;
    const found = cell.exec(text);
    if (found === null) {
      if (!CUT.test(text)) return broken(QUOTES_RULE);
      return isWhole ? broken('This line opens a double quote that is never closed.') : undefined;
    }
    const [{ length }, quoted, plain = '', separator] = found;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    at += length;
    if (separator === delimiter) continue;
    if (separator === '' && !isWhole) return undefined;
    return { item: { line, cells }, delimiter, end: at };
  }
}

/** What stands first: the names of the columns contain no delimiter. */
function delimiterOf(line: string): Delimiter {
  const [first] = /[,;\t]/.exec(line) ?? [];
  return first === ';' || first === '\t' ? first : ',';
}

/** Also leading and trailing blanks, which some readers trim. */
const NEEDS_QUOTES = /["\r\n]|^\s|\s$/;

/** A record as text, with an LF at its end (not RFC 4180's CRLF). Formulas are not escaped. */
export function csvLine(cells: readonly string[], delimiter: Delimiter = ','): string {
  const written = cells.map((cell) =>
    NEEDS_QUOTES.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell,
  );
  // A single empty cell would be an empty line, which is not a record.
  return `${written.length === 1 && written[0] === '' ? '""' : written.join(delimiter)}\n`;
}
