import { createTextReader, endOfLine, type TextReader } from './text.ts';

/** The text of one JSON value in a file of many. */
export type JsonText = {
  /** The line it begins in, from 1. */
  line: number;
  text: string;
};

/**
 * Reads one JSON value per line. Skips blank lines.
 * @param longest the most characters in a line
 */
export function createLinesReader(longest: number): TextReader<JsonText> {
  return createTextReader(longest, tooLong(longest), (place) => {
    const end = endOfLine(place);
    if (end === 0) return undefined;
    const text = place.text.slice(place.at, end).replace(/\n$/, '');
    return { item: text.trim() === '' ? undefined : { line: place.line, text }, end };
  });
}

/** The white space of JSON (RFC 8259 §2). */
const BLANKS = /[ \t\n\r]+/y;

/**
 * Reads the elements of a JSON array, one at a time. It checks only brackets, braces and quotes; the reader of the
 * element checks the rest.
 * @param longest the most characters in an element
 */
export function createArrayReader(longest: number): TextReader<JsonText> {
  let state: 'before' | 'opened' | 'after element' | 'after comma' | 'closed' = 'before';

  const reader = createTextReader<JsonText>(longest, tooLong(longest), ({ text, at, line }) => {
    BLANKS.lastIndex = at;
    if (BLANKS.test(text)) return { end: BLANKS.lastIndex };
    const char = text.charAt(at);
    if (state === 'closed') throw new Error(`Line ${line} has text after the end of the array.`);
    if (state === 'before') {
      if (char !== '[') {
        throw new Error('The file is not a JSON array. If it has one object per line, use --format ndjson.');
      }
      state = 'opened';
    } else if (state !== 'after element' && char !== ',' && char !== ']') {
      const end = endOfElement(text, at);
      if (end === undefined) return undefined;
      state = 'after element';
      return { item: { line, text: text.slice(at, end) }, end };
    } else if (state === 'after comma' || (state === 'opened' && char === ',')) {
      throw new Error(`Line ${line} has a comma without a value.`);
    } else state = char === ',' ? 'after comma' : 'closed';
    return { end: at + 1 };
  });

  return {
    push: reader.push,
    end() {
      const texts = reader.end();
      if (state === 'before') throw new Error('The file is empty; it must contain a JSON array.');
      if (state === 'closed') return texts;
      throw new Error(`The array is not closed: the file ends in line ${reader.line()}.`);
    },
  };
}

const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy;

/** The index of the comma or bracket after an element; undefined when the element may continue after the text. */
function endOfElement(text: string, start: number): number | undefined {
  /** How many arrays and objects are open. */
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') {
      STRING.lastIndex = at;
      if (!STRING.test(text)) return undefined;
      at = STRING.lastIndex - 1;
    } else if (depth === 0 && (char === ',' || char === ']')) return at;
    else if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') depth--;
  }
  return undefined;
}

const tooLong = (longest: number) => (line: number) =>
  new Error(`The row that begins in line ${line} is longer than ${longest} characters.`);
