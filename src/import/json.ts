/** The text of one JSON value in a file of many. */
export type JsonText = {
  /** The line it begins in, from 1. */
  line: number;
  text: string;
};

/**
 * Takes the text of a file in pieces of any length. Both methods throw an `Error` with a sentence when the file is
 * wrong.
 */
export type TextReader<Item> = {
  /** The items completed so far. */
  push(text: string): Item[];
  /** The last items. Call it once, after the last piece. */
  end(): Item[];
};

const BLANK = /^\s*$/;

/**
 * Reads one JSON value per line. Skips blank lines.
 * @param longest the most characters in a line
 */
export function createLinesReader(longest: number): TextReader<JsonText> {
  let rest = '';
  let line = 0;

  function take(lines: readonly string[]): JsonText[] {
    const texts: JsonText[] = [];
    for (const text of lines) {
      line++;
      if (text.length > longest) throw tooLong(line, longest);
      if (!BLANK.test(text)) texts.push({ line, text });
    }
    return texts;
  }

  return {
    push(text) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      const texts = take(lines);
      if (rest.length > longest) throw tooLong(line + 1, longest);
      return texts;
    },
    end: () => take([rest]),
  };
}

/**
 * Reads the elements of a JSON array, one at a time. It checks only brackets, braces and quotes; the reader of the
 * element checks the rest.
 * @param longest the most characters in an element
 */
export function createArrayReader(longest: number): TextReader<JsonText> {
  let state: 'before' | 'inside' | 'after' = 'before';
  let line = 1;
  /** How many arrays and objects are open inside an element. */
  let depth = 0;
  let quoting: 'none' | 'string' | 'escape' = 'none';
  let element = '';
  let elementLine = 1;
  /** Whether an element must follow: after a comma. */
  let isOwed = false;

  function finish(texts: JsonText[], last: string, isEnd: boolean): void {
    const text = element + last;
    element = '';
    if (!BLANK.test(text)) texts.push({ line: elementLine, text });
    else if (isOwed || !isEnd) throw new Error(`Line ${line} has a comma without a value.`);
    isOwed = !isEnd;
    if (isEnd) state = 'after';
  }

  /** The same for a character outside an element. */
  function around(char: string): void {
    if (BLANK.test(char)) return;
    if (state === 'after') throw new Error(`Line ${line} has text after the end of the array.`);
    if (char !== '[') {
      throw new Error('The file is not a JSON array. If it has one object per line, use --format ndjson.');
    }
    state = 'inside';
  }

  function push(piece: string): JsonText[] {
    const texts: JsonText[] = [];
    let start = 0;
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (code === LF) line++;
      if (quoting !== 'none') {
        if (quoting === 'escape') quoting = 'string';
        else if (code === BACKSLASH) quoting = 'escape';
        else if (code === QUOTE) quoting = 'none';
        continue;
      }
      if (state !== 'inside') {
        around(piece.charAt(at));
        start = at + 1;
        elementLine = line;
      } else if (depth === 0 && (code === COMMA || code === CLOSE_ARRAY)) {
        finish(texts, piece.slice(start, at), code === CLOSE_ARRAY);
        start = at + 1;
        elementLine = line;
      } else if (code === QUOTE) quoting = 'string';
      else if (code === OPEN_ARRAY || code === OPEN_OBJECT) depth++;
      else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--;
      else if (code === LF && isBlank(element, piece, start, at)) elementLine = line;
    }
    if (state === 'inside') element += piece.slice(start);
    if (element.length > longest) throw tooLong(elementLine, longest);
    return texts;
  }

  return {
    push,
    end() {
      if (state === 'before') throw new Error('The file is empty; it must contain a JSON array.');
      if (state === 'inside') throw new Error(`The array is not closed: the file ends in line ${line}.`);
      return [];
    },
  };
}

const LF = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Whether the element is empty so far. */
function isBlank(element: string, piece: string, start: number, at: number): boolean {
  return BLANK.test(element) && BLANK.test(piece.slice(start, at));
}

function tooLong(line: number, longest: number): Error {
  return new Error(`The row that begins in line ${line} is longer than ${longest} characters.`);
}
