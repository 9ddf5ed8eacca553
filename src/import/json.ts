/** The text of one JSON value out of a file of many. */
export type JsonText = {
  /** Where it begins, from 1. */
  line: number;
  text: string;
};

/** Takes the text of a file in pieces, cut anywhere. Both throw an `Error` with a sentence when the file is wrong. */
export type JsonReader = {
  /** The values that are complete by now. */
  push(text: string): JsonText[];
  /** The last value. To be called once, after the last piece. */
  end(): JsonText[];
};

const BLANK = /^\s*$/;

/**
 * Reads one JSON value in each line. Blank lines are passed over.
 *
 * @param longest how many characters a line may have
 */
export function createLinesReader(longest: number): JsonReader {
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
 * Reads the elements of a JSON array without holding more than one of them. What stands between brackets, braces and
 * quotes is for the reader of the element to judge.
 *
 * @param longest how many characters an element may have
 */
export function createArrayReader(longest: number): JsonReader {
  let state: 'before' | 'inside' | 'after' = 'before';
  let line = 1;
  /** How many arrays and objects are open inside of an element. */
  let depth = 0;
  let quoting: 'none' | 'string' | 'escape' = 'none';
  let element = '';
  let elementLine = 1;
  /** Whether there must be an element: behind a comma. */
  let isOwed = false;

  function finish(texts: JsonText[], last: string, isEnd: boolean): void {
    const text = element + last;
    element = '';
    if (!BLANK.test(text)) texts.push({ line: elementLine, text });
    else if (isOwed || !isEnd)
      throw new Error(`A value is missing in line ${line}: there is a comma too many.`);
    isOwed = !isEnd;
    if (isEnd) state = 'after';
  }

  /** The same for a character outside of the elements. */
  function around(char: string): void {
    if (BLANK.test(char)) return;
    if (state === 'after') throw new Error(`There is more behind the end of the array, in line ${line}.`);
    if (char !== '[') {
      throw new Error(
        'The file is no JSON array. Is there one object in each line? Then say --format ndjson.',
      );
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
      if (state === 'before') throw new Error('The file is empty; it must hold a JSON array.');
      if (state === 'inside') throw new Error(`The array does not end: the file breaks off in line ${line}.`);
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

/** Whether nothing of an element is there yet. */
function isBlank(element: string, piece: string, start: number, at: number): boolean {
  return BLANK.test(element) && BLANK.test(piece.slice(start, at));
}

function tooLong(line: number, longest: number): Error {
  return new Error(`Line ${line} begins a row that is longer than ${longest} characters.`);
}
