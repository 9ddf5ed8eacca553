import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AppError } from '../../src/errors.ts';
import { type JsonValue, parseJson } from '../../src/json/json.ts';
import { malformed, wellFormed } from './json-texts.ts';

const read = (text: string): JsonValue => parseJson(Buffer.from(text));

function refused(bytes: Buffer | string, message: RegExp = /^The body is not JSON: /): void {
  assert.throws(
    () => parseJson(Buffer.from(bytes)),
    (error) => error instanceof AppError && error.code === 40001 && message.test(error.message),
    JSON.stringify(bytes.toString().slice(0, 60)),
  );
}

test('every JSON value is read like JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 0, 2, '\t'), (text, space) => {
      const spaced = JSON.stringify(JSON.parse(text), null, space);
      assert.deepEqual(inNumbers(read(text)), JSON.parse(text));
      assert.deepEqual(inNumbers(read(spaced)), JSON.parse(text));
    }),
    { numRuns: 1000 },
  );
});

test('a text is accepted exactly when JSON.parse accepts it', () => {
  const parts = [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"a"',
    '"b"',
    '"\\',
    '\\u00',
    '"',
    '1',
    '0',
    '-',
    '+',
    '.',
    'e',
  ];
  const words = ['true', 'null', 'nul', ' ', '\n', '\u0000', '\u00a0', '\ufeff', '\ud83d\ude00'];
  const text = fc
    .array(fc.constantFrom(...parts, ...words), { maxLength: 7 })
    .map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(text, (candidate) => {
      const expected = outcome(() => JSON.parse(candidate));
      const actual = outcome(() => inNumbers(read(candidate)));
      if (actual.failure?.includes('duplicate member name')) return;
      assert.deepEqual(actual.value, expected.value);
      assert.equal(actual.failure === undefined, expected.failure === undefined, candidate);
    }),
    { numRuns: 20_000 },
  );
});

test('a changed character of a valid text is accepted exactly when JSON.parse accepts it', () => {
  const change = fc.tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 }));
  fc.assert(
    fc.property(change, ([text, place, replacement]) => {
      const at = place % text.length;
      const candidate = text.slice(0, at) + replacement + text.slice(at + 1);
      const expected = outcome(() => JSON.parse(candidate));
      const actual = outcome(() => inNumbers(read(candidate)));
      if (actual.failure?.includes('duplicate member name')) return;
      assert.deepEqual(actual.value, expected.value, candidate);
      assert.equal(actual.failure === undefined, expected.failure === undefined, candidate);
    }),
    { numRuns: 2000 },
  );
});

test('any bytes are either read or refused with 40001', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => {
      try {
        parseJson(Buffer.from(bytes));
      } catch (error) {
        assert.ok(error instanceof AppError && error.code === 40001);
      }
    }),
    { numRuns: 2000 },
  );
});

test('an integer of 64 bits is an exact bigint, in any spelling', () => {
  const integers: [string, bigint][] = [
    ['7', 7n],
    ['7.0', 7n],
    ['7e0', 7n],
    ['70e-1', 7n],
    ['0.7e1', 7n],
    ['700E-2', 7n],
    ['7.000E+0', 7n],
    ['0', 0n],
    ['-0', 0n],
    ['-0.0e-5', 0n],
    ['0e999999999', 0n],
    ['-5', -5n],
    ['1e18', 10n ** 18n],
    ['999999999999999', 999999999999999n],
    ['9007199254740993', 9007199254740993n],
    ['9007199254740993.0', 9007199254740993n],
    ['9223372036854775807', 2n ** 63n - 1n],
    ['9223372036854775807.0', 2n ** 63n - 1n],
    ['9.223372036854775807e18', 2n ** 63n - 1n],
    ['92233720368547758070e-1', 2n ** 63n - 1n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['-9.223372036854775808E18', -(2n ** 63n)],
    [`0.${'0'.repeat(60)}7e61`, 7n],
    [`7${'0'.repeat(60)}e-60`, 7n],
    [`7.${'0'.repeat(60_000)}`, 7n],
  ];
  for (const [text, value] of integers) assert.equal(read(text), value, text.slice(0, 40));
});

test('every other number is a JS number', () => {
  const numbers: [string, number][] = [
    ['7.5', 7.5],
    ['-0.5', -0.5],
    ['7e-1', 0.7],
    ['9223372036854775808', 2 ** 63],
    ['9223372036854775806.5', 2 ** 63],
    ['-9223372036854775809', -(2 ** 63)],
    ['1e19', 1e19],
    ['1e400', Infinity],
    ['-1e400', -Infinity],
    ['1e-400', 0],
    ['1e999999999', Infinity],
    ['1e-999999999', 0],
    [`1e${'9'.repeat(60_000)}`, Infinity],
    ['9'.repeat(60_000), Infinity],
  ];
  for (const [text, value] of numbers) assert.equal(read(text), value, text.slice(0, 40));
});

test('any integer of 64 bits survives, in plain and in scientific form', () => {
  fc.assert(
    fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.nat(25), (integer, shift) => {
      assert.equal(read(`${integer}`), integer);
      // A zero has no more digits before the point.
      if (integer !== 0n) assert.equal(read(`${integer}${'0'.repeat(shift)}e-${shift}`), integer);
      assert.equal(read(`${integer}.${'0'.repeat(shift + 1)}`), integer);
    }),
  );
});

test('a long number takes time in proportion to its length', () => {
  // Quadratic work on a million digits would take minutes.
  assert.equal(read(`1${'0'.repeat(1_000_000)}`), Infinity);
  assert.equal(read(`${'1'.repeat(1_000_000)}e-1000000`), 0.1111111111111111);
  assert.equal(read(`0.${'0'.repeat(1_000_000)}1`), 0);
});

test('what JSONTestSuite accepts is accepted', () => {
  for (const [text, value] of wellFormed) assert.deepEqual(inNumbers(read(text)), value, text);
});

test('what JSONTestSuite refuses is refused', () => {
  for (const text of ['', ' ', ...malformed]) {
    assert.throws(() => JSON.parse(text));
    refused(text);
  }
});

test('invalid UTF-8 and a byte order mark are refused, and the message names the byte', () => {
  const invalid = ['ff', 'c0af', 'e0ff', 'eda080', 'f4bfbfbf', '80', 'c3', 'e282', 'f09f98', 'fc83bfbfbfbf'];
  for (const hex of invalid) {
    const bytes = Buffer.concat([Buffer.from('["a'), Buffer.from(hex, 'hex'), Buffer.from('"]')]);
    refused(bytes, /^The body is not JSON: it is not valid UTF-8 at byte 3\.$/);
  }
  // The beginning of U+FFFD, by which a decoder replaces what is invalid.
  refused(Buffer.from('["a\u{fffd}').subarray(0, -1), /not valid UTF-8 at byte 5\.$/);
  refused(Buffer.from('efbbbf7b7d', 'hex'), /byte order mark, at byte 0\.$/);
  refused(Buffer.from('fffe5b005d00', 'hex'), /not valid UTF-8 at byte 0\.$/);
  refused(Buffer.from('5b005d00', 'hex'));
});

test('a member name that appears twice is refused, in any spelling', () => {
  refused('{"a":1,"a":1}', /duplicate member name at character 7\.$/);
  refused('{"a":1,"b":{},"\\u0061":2}', /duplicate member name at character 14\.$/);
  refused('[{"x":{"a":1,"a":2}}]');
  refused('{"__proto__":1,"__proto__":2}');
  refused('{"1":1,"1":2}');
  assert.deepEqual(read('{"a":{"a":[{"a":true}]},"A":null}'), { a: { a: [{ a: true }] }, A: null });
  assert.deepEqual(read('{"constructor":true,"toString":true}'), { constructor: true, toString: true });
});

test('a member named __proto__ is a member like any other', () => {
  const value = read('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
  assert.deepEqual(Object.keys(Object(value)), ['__proto__', 'constructor']);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(Reflect.get(Object(value), 'polluted'), undefined);
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

test('nesting is read to the limit and refused beyond it', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  assert.equal(JSON.stringify(read(nested(32))), nested(32));
  refused(nested(33), /nested more than 32 deep at character 32\.$/);
  refused('{"a":'.repeat(33) + '1'.concat('}'.repeat(33)), /nested more than 32 deep/);
  refused('['.repeat(5_000_000), /nested more than 32 deep/);
  assert.equal(Object(read(`[${'[],'.repeat(1000)}[]]`)).length, 1001);
});

test('a message says what was expected and where', () => {
  refused('{"name":"Alder",}', /expected a member name in double quotes at character 16\.$/);
  refused('{"name" "Alder"}', /expected a colon at character 8\.$/);
  refused('{"name":"Alder"} x', /expected the end of the text at character 17\.$/);
  refused('{"name":"Al\nder"}', /unescaped control character at character 11\.$/);
  refused('{"name":"Alder', /unclosed string at character 14\.$/);
  refused('{"id":007}', /leading zero at character 6\.$/);
  refused('', /expected a value at character 0\.$/);
});

/** Turns bigints into numbers, like JSON.parse. */
function inNumbers(value: JsonValue): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(inNumbers);
  if (value === null || typeof value !== 'object') return value === 0 ? 0 : value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inNumbers(member)]));
}

/** JSON.parse's value without negative zeros: an id of -0 is 0. */
function outcome(run: () => unknown): { value?: unknown; failure?: string } {
  try {
    return { value: JSON.parse(JSON.stringify(run())) };
  } catch (error) {
    return { failure: String(error) };
  }
}
