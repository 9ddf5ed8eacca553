import fc from 'fast-check';

const [FIRST_SURROGATE, LAST_SURROGATE, LAST] = [0xd800, 0xdfff, 0x10ffff];
const SURROGATES = LAST_SURROGATE - FIRST_SURROGATE + 1;

/**
 * Any character of Unicode. With the same seed it gives the same ones as fast-check's `unit: 'binary'`, which first
 * makes a table of all of them: 1.8 s of CPU.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat(LAST - SURROGATES)
  .map((index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES), indexOf);

/** Throws for anything but one character: that is how fast-check learns that it is none. */
function indexOf(value: unknown): number {
  const [point = Number.NaN, ...more] = Array.from(
    String(value),
    (character) => character.codePointAt(0) ?? 0,
  );
  const isSurrogate = point >= FIRST_SURROGATE && point <= LAST_SURROGATE;
  if (Number.isNaN(point) || more.length > 0 || isSurrogate) throw new Error('This is not a character.');
  return point < FIRST_SURROGATE ? point : point - SURROGATES;
}
