import type { FromSchema } from 'json-schema-to-ts';
import { AppError } from '../errors.ts';
import { plants as limits } from '../limits.ts';

/** A plant id: any 64-bit signed integer, exact to the last digit. Unique for one owner. */
export type PlantId = bigint;

export const MIN_ID = -(2n ** 63n);
export const MAX_ID = 2n ** 63n - 1n;
/** The largest id that the service assigns, and the largest integer that every JSON reader reads exactly. */
export const LAST_ASSIGNED_ID = 2n ** 53n - 1n;

/**
 * No NUL, which PostgreSQL rejects. The validator also refuses lone surrogates in a text with a pattern: a pattern
 * that names them refuses every emoji in programs that match UTF-16 units.
 */
export const TEXT = '^[^\\x00]*$';
/**
 * The same text, with at least one character that is not Unicode's White_Space. `\s` differs between regular expression
 * languages (JavaScript's lacks U+0085 and has U+FEFF), and not all of them support `\p`. These ranges do not name
 * U+2028, because a generator of clients writes it as a line break. The last class is for those that match code points.
 */
const VISIBLE_TEXT =
  '^[^\\x00]*(?:[\\x01-\\x08\\x0E-\\x1F!-\\x84\\x86-\\x9F\\xA1-\\u167F\\u1681-\\u1FFF\\u200B-\\u2027\\u202A-\\u202E' +
  '\\u2030-\\u205E\\u2060-\\u2FFF\\u3001-\\uFFFF]|[^\\x00-\\uFFFF])[^\\x00]*$';

/** A member's description is also the error message for a value that breaks its rule. */
export const Name = {
  type: 'string',
  minLength: 1,
  maxLength: limits.nameLength,
  pattern: VISIBLE_TEXT,
  description: `a string of 1 to ${limits.nameLength} Unicode code points, not only white space, without NUL or lone surrogates`,
  examples: ['Alder'],
} as const;

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

export const Tag = {
  type: 'string',
  maxLength: limits.tagLength,
  pattern: TEXT,
  description: `a string of at most ${limits.tagLength} Unicode code points, without NUL or lone surrogates`,
  examples: ['Alnus'],
} as const;

export const Id = {
  type: 'integer',
  format: 'int64',
  description: 'a 64-bit signed integer (-9223372036854775808 to 9223372036854775807)',
  examples: [7],
} as const;

/** The body of `POST /plants`. */
export const PlantInput = {
  $id: 'PlantInput',
  type: 'object',
  required: ['name'],
  properties: { name: Name, tag: Tag, id: Id },
  additionalProperties: false,
  description: 'The plant to add to the store.',
} as const;
export type PlantInput = FromSchema<
  typeof PlantInput,
  { deserialize: [{ pattern: typeof Id; output: PlantId }] }
>;

/** The response of the create operation, and each element of the list without `fields`. */
export const Plant = {
  $id: 'Plant',
  type: 'object',
  required: ['name'],
  properties: { name: Name, tag: Tag },
  description: 'A plant. One without a tag has no `tag` member.',
} as const;

/** An element of the list: the requested fields, by default `name` and `tag`. */
export const ListedPlant = {
  $id: 'ListedPlant',
  type: 'object',
  properties: {
    id: Id,
    name: Name,
    tag: Tag,
    owner: { type: 'string', description: "the owner's user name" },
  },
  description: 'A plant with the requested fields; by default `name` and `tag`.',
} as const;

/**
 * A plant as JSON text with every digit of its id: a JS number would lose digits, and `JSON.stringify` rejects a
 * bigint. For lists, the stores write this JSON in SQL.
 */
export function plantJson({ id, name, tag, owner }: PlantMembers): string {
  const rest = JSON.stringify({ name, tag, owner });
  return id === undefined ? rest : `{"id":${id},${rest.slice(1)}`;
}

type PlantMembers = {
  /** The client passes a number while it is exact. */
  id?: PlantId | number | undefined;
  name: string;
  tag?: string | undefined;
  /** The owner's user name. */
  owner?: string | undefined;
};

const CANONICAL = /^(?:0|-?[1-9]\d{0,18})$/;

/** An id in its canonical decimal form; undefined for any other text. */
export function canonicalId(text: string): PlantId | undefined {
  const id = CANONICAL.test(text) ? BigInt(text) : undefined;
  return id !== undefined && id >= MIN_ID && id <= MAX_ID ? id : undefined;
}

/** Reads the id in a path. Accepts the canonical decimal form only, so that a plant has one URL. */
export function parsePlantId(text: string): PlantId {
  const id = canonicalId(text);
  if (id !== undefined) return id;
  throw new AppError(
    40004,
    'The id in the path must be a 64-bit integer in canonical form, such as 7 or -5.',
  );
}
