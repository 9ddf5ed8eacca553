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

/** Undefined when the record may go on behind the end of the text. `isWhole`: nothing comes behind it. */
function readRecord(text: string, start: number, isWhole: boolean): Found | undefined {
  const lineEnd = endOfLine(text, start);
  if (lineEnd === -1 && !isWhole) return undefined;
  const end = lineEnd === -1 ? text.length : lineEnd;
  const line = text.slice(start, withoutBreak(text, start, end));
  if (!line.includes('"')) return { cells: line.split(','), isQuoted: false, end, lines: 1 };

  const broken = (problem: string): Found => ({ cells: [line], problem, isQuoted: true, end, lines: 1 });
  const found = readQuoted(text, start);
  switch (found) {
    case 'cut':
      return isWhole ? broken('A double quote is opened in this line and never closed.') : undefined;
    case 'wrong':
      return broken(QUOTES_RULE);
    default:
      // Without its line break it may go on: with the second half of a doubled quote, for one.
      return isWhole || text[found.end - 1] === '\n' ? found : undefined;
  }
}

const QUOTES_RULE =
  'The double quotes are wrong. Put the whole value in double quotes, and write each double quote in it twice.';

/** A record with double quotes in its first line: `cut` when the text ends too early to know what it is. */
function readQuoted(text: string, start: number): Found | 'cut' | 'wrong' {
  const cells: string[] = [];
  let at = start;
  let lines = 1;
  for (;;) {
    if (text[at] === '"') {
      const close = closingQuote(text, at + 1);
      if (close === -1) return 'cut';
      const value = text.slice(at + 1, close);
      cells.push(value.replaceAll('""', '"'));
      lines += value.split('\n').length - 1;
      at = close + 1;
      if (text[at] === '\r' && at + 1 === text.length) return 'cut';
      if (text[at] === '\r' && text[at + 1] === '\n') at++;
    } else {
      const stop = endOfPlain(text, at);
      if (text[stop] === '"') return 'wrong';
      cells.push(text.slice(at, text[stop] === '\n' ? withoutBreak(text, at, stop + 1) : stop));
      at = stop;
    }
    if (at >= text.length) return { cells, isQuoted: true, end: text.length, lines };
    if (text[at] === '\n') return { cells, isQuoted: true, end: at + 1, lines };
    if (text[at] !== ',') return 'wrong';
    at++;
  }
}

/** Where the quote is that ends a quoted value; -1 when there is none. */
function closingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at !== -1 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}

/** Where a value without quotes ends: at a comma, a quote, a line break, or the end of the text. */
function endOfPlain(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== ',' && text[at] !== '"' && text[at] !== '\n') at++;
  return at;
}

/** Behind the line break; -1 when there is none. */
function endOfLine(text: string, from: number): number {
  return text.indexOf('\n', from) + 1 || -1;
}

/** Where a line ends without its LF or CRLF. `end` is behind the line break, if there is one. */
function withoutBreak(text: string, start: number, end: number): number {
  if (end === start || text[end - 1] !== '\n') return end;
  return end - 2 >= start && text[end - 2] === '\r' ? end - 2 : end - 1;
}

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;

/** A record as text, with its line break (RFC 4180's CRLF is left to those who need it). */
export function csvLine(cells: readonly string[]): string {
  const written = cells.map((cell) => (NEEDS_QUOTES.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell));
  // One empty cell alone would be an empty line, which is no record.
  return `${written.length === 1 && written[0] === '' ? '""' : written.join()}\n`;
}
