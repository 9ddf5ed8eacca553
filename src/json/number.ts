import { MAX_ID, MIN_ID } from '../plants/plant.ts';

/** Enough for every 64-bit integer. */
const MAX_DIGITS = 19;

/**
 * The value of a JSON number (RFC 8259 §6): an exact bigint for a 64-bit integer, however it is written (`7`, `7.0`,
 * `70e-1`, `-0`), else the nearest JS number, including Infinity. Takes linear time in the length of the token, even
 * for `1e999999999`.
 */
export function jsonNumber(token: string): bigint | number {
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
