import { exactInteger } from './verify-webhook.ts';

/** A 64-bit integer: a number while that is exact, else a bigint. */
export type Int64 = number | bigint;

/** A 64-bit integer as input: where a number would not be exact, a bigint or its decimal text. */
export type Int64Input = number | bigint | string;

/**
 * Parses JSON without losing a digit.
 * @throws SyntaxError for invalid JSON
 * @throws RangeError for an integer beyond `Number.MAX_SAFE_INTEGER` when `JSON.parse` does not support source text
 */
export function readJson(text: string): unknown {
  // Every integer beyond a number's precision has at least 16 digits. A reviver makes parsing several times slower.
  return /\d{16}/.test(text) ? JSON.parse(text, exactInteger) : JSON.parse(text);
}

/**
 * The canonical decimal text of a 64-bit integer; the service checks its range.
 * @throws TypeError for a value that is not an integer, or a number that may already have lost digits
 */
export function integerText(value: unknown): string {
  const text = String(value);
  if (/^(0|-?[1-9]\d*)$/.test(text) && (typeof value !== 'number' || Number.isSafeInteger(value)))
    return text;
  throw new TypeError(`An integer is needed, beyond 2^53 as a bigint or text, not ${text}.`);
}

/** The number or bigint of a canonical decimal text. */
export function integerOf(text: string): Int64 {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}
