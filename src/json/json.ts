import { isUtf8 } from 'node:buffer';
import { AppError } from '../errors.ts';
import { http } from '../limits.ts';
import { MAX_ID, MIN_ID } from '../plants/plant.ts';

/** A number that is a 64-bit integer is read as a bigint, any other as a JS number. */
export type JsonValue = null | boolean | string | number | bigint | JsonValue[] | JsonObject;
type JsonObject = { [name: string]: JsonValue };

type Reader = {
  text: string;
  /** The reader's position, in UTF-16 code units. */
  at: number;
  /** How many objects and arrays are open. */
  depth: number;
};

/**
 * Reads a JSON text (RFC 8259) strictly: it refuses invalid UTF-8, a byte order mark, duplicate member names and
 * nesting over the limit with 40001. `JSON.parse` would keep the last of two equal members and round integers over
 * 2^53. 64-bit integers are exact however they are written (`7`, `7.0`, `70e-1`); `1e400` is Infinity, which no
 * schema accepts. Lone surrogates, written as escapes, are valid JSON and pass.
 */
export function parseJson(bytes: Buffer): JsonValue {
  const reader: Reader = { text: decode(bytes), at: 0, depth: 0 };
  const value = readValue(reader, skipSpace(reader));
  if (!Number.isNaN(skipSpace(reader))) fail(reader, 'expected the end of the text');
  return value;
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) {
    const repaired = Buffer.from(bytes.toString('utf8'));
    // Of the two the longer one: the body may end within U+FFFD.
    const offset = repaired.findIndex((byte, index) => byte !== bytes[index]);
    throw new AppError(40001, `The body is not JSON: it is not valid UTF-8 at byte ${offset}.`);
  }
  const text = bytes.toString('utf8');
  if (text.charCodeAt(0) === 0xfeff) {
    throw new AppError(40001, 'The body is not JSON: it starts with a byte order mark, at byte 0.');
  }
  return text;
}

/** Never returns. The message says what was expected, and where, in UTF-16 code units from 0. */
function fail(reader: Reader, what: string, at: number = reader.at): never {
  throw new AppError(40001, `The body is not JSON: ${what} at character ${at}.`);
}

/** Moves the reader to the next character that is not white space and returns its code, NaN at the end. */
function skipSpace(reader: Reader): number {
  let code = reader.text.charCodeAt(reader.at);
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
    code = reader.text.charCodeAt(++reader.at);
  }
  return code;
}

function readValue(reader: Reader, code: number): JsonValue {
  switch (code) {
    case 0x22: // "
      return readString(reader);
    case 0x7b: // {
      return readItems(reader, {}, readMember, '}');
    case 0x5b: // [
      return readItems(reader, [], readElement, ']');
    case 0x74: // t
      return readWord(reader, 'true', true);
    case 0x66: // f
      return readWord(reader, 'false', false);
    case 0x6e: // n
      return readWord(reader, 'null', null);
    default:
      if (code === 0x2d || isDigit(code)) return readNumber(reader);
      return fail(reader, 'expected a value');
  }
}

function readWord<T>(reader: Reader, word: string, value: T): T {
  if (!reader.text.startsWith(word, reader.at)) fail(reader, 'expected a value');
  reader.at += word.length;
  return value;
}

function readMember(reader: Reader, object: JsonObject, code: number): void {
  if (code !== 0x22) fail(reader, 'expected a member name in double quotes');
  const start = reader.at;
  const name = readString(reader);
  if (Object.hasOwn(object, name)) fail(reader, 'duplicate member name', start);
  if (skipSpace(reader) !== 0x3a) fail(reader, 'expected a colon');
  reader.at++;
  setMember(object, name, readValue(reader, skipSpace(reader)));
}

/** Assigning `__proto__` would change the prototype instead of adding a member. */
function setMember(object: JsonObject, name: string, value: JsonValue): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[name] = value;
  }
}

function readElement(reader: Reader, array: JsonValue[], code: number): void {
  array.push(readValue(reader, code));
}

/**
 * Reads the rest of an object or array into `whole`. The reader is at its opening brace or bracket.
 * @param readItem gets the code of the item's first character
 */
function readItems<Whole>(
  reader: Reader,
  whole: Whole,
  readItem: (reader: Reader, whole: Whole, code: number) => void,
  closing: '}' | ']',
): Whole {
  const end = closing.charCodeAt(0);
  if (++reader.depth > http.jsonDepth) fail(reader, `values are nested more than ${http.jsonDepth} deep`);
  reader.at++;
  let code = skipSpace(reader);
  if (code !== end) {
    for (;;) {
      readItem(reader, whole, code);
      code = skipSpace(reader);
      if (code !== 0x2c) break;
      reader.at++;
      code = skipSpace(reader);
    }
    if (code !== end) fail(reader, `expected a comma or a closing ${closing === '}' ? 'brace' : 'bracket'}`);
  }
  reader.depth--;
  reader.at++;
  return whole;
}

/** The reader is at the opening quote. A string without escapes is sliced in one piece. */
function readString(reader: Reader): string {
  const { text } = reader;
  const start = reader.at + 1;
  let at = start;
  let code = text.charCodeAt(at);
  // The comparison is also false for NaN, at the end of the text.
  while (code >= 0x20 && code !== 0x22 && code !== 0x5c) code = text.charCodeAt(++at);
  reader.at = at;
  if (code !== 0x22) return readEscapedString(reader, start);
  reader.at++;
  return text.slice(start, at);
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Only the escapes and the end are checked here; `JSON.parse` then reads the string. */
function readEscapedString(reader: Reader, start: number): string {
  const { text } = reader;
  for (let code = text.charCodeAt(reader.at); code !== 0x22; code = text.charCodeAt(reader.at)) {
    if (code === 0x5c) {
      ESCAPE.lastIndex = reader.at;
      if (!ESCAPE.test(text)) {
        const isHex = text.charAt(reader.at + 1) === 'u';
        fail(reader, isHex ? 'expected four hexadecimal digits after \\u' : 'unknown escape');
      }
      reader.at = ESCAPE.lastIndex;
    } else if (code >= 0x20) {
      reader.at++;
    } else {
      fail(reader, Number.isNaN(code) ? 'unclosed string' : 'unescaped control character');
    }
  }
  return JSON.parse(text.slice(start - 1, ++reader.at));
}

/** This many digits are exact as a JS number, which is faster to read than a bigint. */
const SHORT_DIGITS = 15;

/** The reader is at the sign or the first digit. */
function readNumber(reader: Reader): number | bigint {
  const { text } = reader;
  const start = reader.at;
  const first = text.charCodeAt(start) === 0x2d ? start + 1 : start;
  let at = skipDigits(reader, first);
  if (text.charCodeAt(first) === 0x30 && at > first + 1) fail(reader, 'leading zero', first);
  const end = at;
  if (text.charCodeAt(at) === 0x2e) at = skipDigits(reader, at + 1);
  if ((text.charCodeAt(at) | 0x20) === 0x65) {
    const sign = text.charCodeAt(at + 1);
    at = skipDigits(reader, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
  }
  reader.at = at;
  const token = text.slice(start, at);
  return at === end && at - first <= SHORT_DIGITS ? BigInt(Number(token)) : jsonNumber(token);
}

/** The index after the digits that start at `at`. There must be at least one. */
function skipDigits(reader: Reader, at: number): number {
  let end = at;
  while (isDigit(reader.text.charCodeAt(end))) end++;
  if (end === at) fail(reader, 'expected a digit', at);
  return end;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Enough for every 64-bit integer. */
const MAX_DIGITS = 19;

/**
 * The value of a JSON number (RFC 8259 §6): an exact bigint for a 64-bit integer, however it is written (`7`, `7.0`,
 * `70e-1`, `-0`), else the nearest JS number, including Infinity. Takes linear time in the length of the token, even
 * for `1e999999999`.
 */
function jsonNumber(token: string): bigint | number {
  const negative = token.startsWith('-');
  const [mantissa = '', exponent = '0'] = token.slice(negative ? 1 : 0).split(/[eE]/);
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole + fraction;

  let start = 0;
  while (digits.charAt(start) === '0') start++;
  if (start === digits.length) return 0n;
  let end = digits.length;
  while (digits.charAt(end - 1) === '0') end--;

  // The value is the digits from start to end, times ten to the power of zeros.
  const zeros = Number(exponent) - fraction.length + (digits.length - end);
  if (zeros < 0 || end - start + zeros > MAX_DIGITS) return Number(token);
  const size = BigInt(digits.slice(start, end) + '0'.repeat(zeros));
  const value = negative ? -size : size;
  return value >= MIN_ID && value <= MAX_ID ? value : Number(token);
}
