import fc from 'fast-check';
import type { Schema } from '../../../testkit/contract/document.ts';
import { anyCharacter } from '../../../testkit/random/any-character.ts';
import type { Member } from '../draft.ts';

/** A JSON value that fits a schema, with its text. */
export type Written = Pick<Member, 'text' | 'value'>;

/** Generators of members that the schema does not fully describe, by name. */
export type Special = Readonly<Record<string, fc.Arbitrary<Written>>>;

/** Objects that fit the schema: optional members present or not, in any order and spelling. */
export function validMembers(schema: Schema, special: Special): fc.Arbitrary<Member[]> {
  const required = schema.required ?? [];
  const members = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const one = (special[name] ?? validValue(member)).map((written): Member => ({ name, ...written }));
    return required.includes(name) ? one : fc.option(one, { nil: undefined });
  });
  return fc.tuple(fc.tuple(...members), fc.boolean()).map(([found, isReversed]) => {
    const there = found.filter((member) => member !== undefined);
    return isReversed ? there.reverse() : there;
  });
}

export function validValue(schema: Schema): fc.Arbitrary<Written> {
  const types = [schema.type ?? []].flat();
  if (schema.enum) return fc.constantFrom(...schema.enum).map(asJson);
  const kinds = types.map((type) => {
    if (type === 'integer') return validInteger(schema);
    if (type === 'boolean') return fc.boolean().map(asJson);
    if (type === 'array') {
      return fc.shuffledSubarray([...(schema.items?.enum ?? [])], { minLength: 1 }).map(asJson);
    }
    if (type === 'null') return fc.constant(asJson(null));
    return fc.tuple(validString(schema), fc.nat(2)).map(([text, style]) => spelledString(text, style));
  });
  return fc.oneof(...kinds);
}

export function asJson(value: unknown): Written {
  return { text: JSON.stringify(value), value };
}

export const MIN_ID = -(2n ** 63n);
export const MAX_ID = 2n ** 63n - 1n;

/** Ids near zero, at the ends of the range, and around 2^53, where JS numbers lose precision. */
export const plantIds: fc.Arbitrary<bigint> = fc.oneof(
  { weight: 4, arbitrary: fc.bigInt({ min: -20n, max: 200n }) },
  { weight: 2, arbitrary: fc.bigInt({ min: MIN_ID, max: MAX_ID }) },
  { weight: 1, arbitrary: fc.bigInt({ min: 2n ** 53n - 2n, max: 2n ** 53n + 3n }) },
  { weight: 1, arbitrary: fc.constantFrom(MIN_ID, MIN_ID + 1n, MAX_ID - 1n, MAX_ID) },
);

function validInteger({ format, minimum = 0, maximum = 0 }: Schema): fc.Arbitrary<Written> {
  const edges = fc.constantFrom(BigInt(minimum), BigInt(maximum));
  const within = fc.bigInt({ min: BigInt(minimum), max: BigInt(maximum) });
  const values = format === 'int64' ? plantIds : fc.oneof(within, edges);
  return fc.tuple(values, fc.nat(7)).map(([value, style]) => ({ value, text: spelledInteger(value, style) }));
}

const ZEROS = ['0', '0.0', '0e0', '0.0E-1', '-0.00e+00', '-0', '-0.0e-5', '0e400'];

/** Spells an integer as a JSON number. */
export function spelledInteger(value: bigint, style: number): string {
  if (value === 0n) return ZEROS[style] ?? '0';
  if (style === 1) return `${value}.0`;
  if (style === 2) return `${value}e0`;
  if (style === 3) return `${value}0E-1`;
  if (style === 4) return `${value}.00e+00`;
  if (style === 5 && value % 10n === 0n) return `${value / 10n}e1`;
  if (style === 6) return `${value}${'0'.repeat(30)}e-30`;
  return String(value);
}

/** Plain, with non-ASCII characters escaped, or with all escaped. */
function spelledString(value: string, style: number): Written {
  const plain = JSON.stringify(value);
  if (style === 0) return { value, text: plain };
  const pattern = style === 1 ? /[^ -~]/g : /[\s\S]/g;
  const units = style === 1 ? plain : value;
  const text = units.replace(pattern, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return { value, text: style === 1 ? text : `"${text}"` };
}

const WIDE = ['a', 'é', 'ٿ', '\u{1F331}', '\u{10FFFF}', '\uFEFF', '\u2028', '<'];

function validString({ minLength = 0, maxLength = 255, pattern = '' }: Schema): fc.Arbitrary<string> {
  const rule = new RegExp(pattern, 'u');
  const bounds = { minLength, maxLength: Math.min(maxLength, 40) };
  return fc
    .oneof(
      { weight: 4, arbitrary: fc.string({ ...bounds, unit: 'grapheme' }) },
      { weight: 4, arbitrary: fc.string({ ...bounds, unit: anyCharacter }) },
      { weight: 1, arbitrary: fc.constantFrom(...WIDE).map((char) => char.repeat(maxLength)) },
      { weight: 1, arbitrary: fc.constantFrom(...WIDE).map((char) => char.repeat(minLength)) },
    )
    .filter((text) => rule.test(text) && [...text].length <= maxLength);
}
