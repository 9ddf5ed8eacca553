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
  let text = '';
  /** Where the next record begins, in `text` and in the file. */
  let at = 0;
  let line = 1;

  function take(isLast: boolean): CsvRecord[] {
    const records: CsvRecord[] = [];
    while (at < text.length) {
      const found = readRecord(text, at, { isWhole: isLast || text.length - at > longest, delimiter });
      if (found === undefined) break;
      if (found.end - at > longest) throw tooLong(line, longest);
      const { cells, problem } = found;
      if (problem !== undefined) records.push({ line, cells, problem });
      else if (cells.length !== 1 || cells[0] !== '' || found.isQuoted) records.push({ line, cells });
      if (records.length > 0) delimiter ??= found.delimiter;
      line += found.lines;
      at = found.end;
    }
    text = text.slice(at);
    at = 0;
    if (!isLast && text.length > longest) throw tooLong(line, longest);
    return records;
  }

  return {
    /** The records completed so far. Throws an `Error` with a sentence for a record that is too long. */
    push(piece: string): CsvRecord[] {
      text += piece;
      return take(false);
    },
    /** The last record, which needs no line break at its end. Call it once, after the last piece. */
    end: () => take(true),
    /** What separates the cells, once the first record is read. */
    delimiter: () => delimiter,
  };
}

function tooLong(line: number, longest: number): Error {
  return new Error(
    `Line ${line} is longer than the ${longest} characters allowed for a row. Is this a CSV file?`,
  );
}

type Found = {
  cells: string[];
  problem?: string;
  /** Whether it has a quoted cell: `""` alone is a record, an empty line is not. */
  isQuoted: boolean;
  delimiter: Delimiter;
  /** The index after its line break. */
  end: number;
  /** Its number of line breaks, including the last. */
  lines: number;
};

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

type Place = {
  /** Whether no more text follows. */
  isWhole: boolean;
  /** By default, the record tells. */
  delimiter: Delimiter | undefined;
};

/** Undefined when the record may continue after the end of the text. */
function readRecord(text: string, start: number, { isWhole, delimiter: known }: Place): Found | undefined {
  const end = text.indexOf('\n', start) + 1 || (isWhole ? text.length : 0);
  if (end === 0) return undefined;
  const lineBreak = text[end - 1] !== '\n' ? 0 : text[end - 2] === '\r' ? 2 : 1;
  const line = text.slice(start, end - lineBreak);
  const delimiter = known ?? delimiterOf(line);
  if (!line.includes('"')) {
    return { cells: line.split(delimiter), isQuoted: false, delimiter, end, lines: 1 };
  }

  const broken = (problem: string): Found => {
    return { cells: [line], problem, isQuoted: true, delimiter, end, lines: 1 };
  };
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
    const lines = text.slice(start, at).split('\n').length - 1;
    return { cells, isQuoted: true, delimiter, end: at, lines };
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
