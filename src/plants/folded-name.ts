import { plants as limits } from '../limits.ts';

/**
 * The form in which names are searched and ordered: NFC, in lower case, in NFC again, since lower-case letters may
 * compose where upper-case ones do not. It depends neither on a language nor on the place of a letter in its word, so
 * a final sigma is a sigma. The stores keep it, since a database would fold by its own version of Unicode.
 */
export function foldName(text: string): string {
  return text.normalize().toLowerCase().replaceAll('ς', 'σ').normalize();
}

/** The most code points in a folded name: lower case and NFC together write a code point as at most three. */
export const MAX_FOLDED = 3 * limits.nameLength;
