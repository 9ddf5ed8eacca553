import { type Case, expecting, type Family, JSON_TYPE, posted } from '../case.ts';

/** Idempotency-Key: RFC 8941, sections 3.3.3 and 3.3.4; contract, section 1. */

/** Valid keys: a string or a bare token, each used once. */
const GOOD_KEYS: [name: string, key: string][] = [
  ['a token', 'key-1'],
  ['a UUID', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['a string', '"key-2"'],
  ['a string with a space', '"key 3"'],
  ['a string with an escaped quote', '"key\\"4"'],
  ['a string with an escaped backslash', '"key\\\\5"'],
  ['a string with a comma', '"key,6"'],
  ['a string of all other characters', '"!#$%&\'()*+-./:;<=>?@[]^_`{|}~"'],
  ['one character', 'k'],
  ['one character in quotes', '"q"'],
  ['a token of 255 characters', 'k'.repeat(255)],
  ['a string of 255 characters', `"${'q'.repeat(255)}"`],
  ['a token in upper case, which is another', 'KEY-1'],
  ['a token of all characters', "aA09!#$%&'*+-.^_`|~:/"],
  ['white space around', ' \t key-7 \t '],
];

const BAD_KEYS: [name: string, key: string][] = [
  ['nothing', ''],
  ['an empty string', '""'],
  ['a quote', '"'],
  ['a string without an end', '"key'],
  ['a string without a beginning', 'key"'],
  ['a quote within', '"a"b"'],
  ['two strings', '"a" "b"'],
  ['two strings and a comma', '"a", "b"'],
  ['two tokens', 'a b'],
  ['two tokens and a comma', 'a, b'],
  ['a comma', ','],
  ['an escaped letter', '"a\\b"'],
  ['an escape at the end', '"a\\"'],
  ['a tab in a string', '"a\tb"'],
  ['bytes beyond ASCII in a string', '"caf\xe9"'],
  ['UTF-8 in a token', 'caf\xc3\xa9'],
  ['a backslash in a token', 'a\\b'],
  ['parentheses', '(a)'],
  ['angle brackets', '<a>'],
  ['braces', '{"a":1}'],
  ['brackets', '[a]'],
  ['a question mark', '?1'],
  ['a semicolon', 'a;'],
  ['single quotes around a space', "'a b'"],
  ['a token of 256 characters', 'k'.repeat(256)],
  ['a string of 256 characters', `"${'q'.repeat(256)}"`],
  ['a token of 10,000 characters', 'k'.repeat(10_000)],
];

const PLANT = '{"name":"Keyed"}';
const keyed = (...keys: string[]): Case['bytes'] =>
  posted(PLANT, [JSON_TYPE, ...keys.map((key) => `Idempotency-Key: ${key}`)]);

export const idempotencyKeys: Family = {
  name: 'Idempotency-Key',
  cases: [
    ...GOOD_KEYS.map(([name, key]) =>
      expecting(201, 'open', { plant: { name: 'Keyed' } })(`a key: ${name}`, keyed(key)),
    ),
    ...BAD_KEYS.map(([name, key]) =>
      expecting(40006, 'open')(`a key that cannot be read: ${name}`, keyed(key)),
    ),
    expecting(40006, 'open')('a key given twice', keyed('twice-1', 'twice-2')),
    expecting(40006, 'open')('a key given twice, alike', keyed('twice', 'twice')),
    expecting([201, 40006], 'open')('a string with a parameter (RFC 8941 §3.3)', keyed('"a";x=1')),
    expecting([201, 40006], 'open')('a string of 255 escapes', keyed(`"${'\\"'.repeat(255)}"`)),
    expecting([201, 40006], 'open')('bytes (RFC 8941 §3.3.5)', keyed(':YWJj:')),
    expecting(40003, 'open')(
      'a key and an unknown parameter',
      posted(PLANT, [JSON_TYPE, 'Idempotency-Key: of-400'], 'POST /plants?x=1 HTTP/1.1'),
    ),
  ],
};
