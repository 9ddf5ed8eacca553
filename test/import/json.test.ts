import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createArrayReader, createLinesReader, type JsonText } from '../../src/import/json.ts';
import type { TextReader } from '../../src/import/text.ts';

const LONGEST = 100;

function read(reader: TextReader<JsonText>, pieces: readonly string[]): JsonText[] {
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
}

test('the elements of an array are read one by one, each with its line', () => {
  const text = '\n[ {"name":"a,]}\\"["},\n\n  {"name":"b",\n"x":[1,2]}\n, 3]\n';
  const found = read(createArrayReader(LONGEST), [text]);
  assert.deepEqual(
    found.map(({ line, text }) => ({ line, value: JSON.parse(text) })),
    [
      { line: 2, value: { name: 'a,]}"[' } },
      { line: 4, value: { name: 'b', x: [1, 2] } },
      { line: 6, value: 3 },
    ],
  );
});

test('any array gives its elements wherever its text is split', () => {
  const values = fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 5 });
  fc.assert(
    fc.property(
      values,
      fc.constantFrom(undefined, 1),
      fc.integer({ min: 1, max: 7 }),
      (array, indent, size) => {
        const text = JSON.stringify(array, null, indent);
        const pieces = [...text.matchAll(new RegExp(`[^]{1,${size}}`, 'g'))].map(([piece]) => piece);
        const found = read(createArrayReader(10_000), pieces);
        assert.deepEqual(
          found.map((element) => JSON.parse(element.text)),
          JSON.parse(text),
        );
      },
    ),
    { numRuns: 300 },
  );
});

test('white space that JSON does not have belongs to an element, whose reader refuses it', () => {
  const found = read(createArrayReader(LONGEST), ['[\u00a01,\ufeff2, \f3]']);
  assert.deepEqual(
    found.map(({ text }) => text),
    ['\u00a01', '\ufeff2', '\f3'],
  );
});

const wrongArrays: readonly [string, RegExp][] = [
  ['', /^The file is empty/],
  ['{"name":"a"}\n', /^The file is not a JSON array\..*--format ndjson/],
  ['[{"name":"a"}', /^The array is not closed: the file ends in line 1\./],
  ['[1,\n,2]', /^Line 2 has a comma without a value/],
  ['[1,]', /^Line 1 has a comma without a value/],
  ['[]\f', /^Line 1 has text after the end of the array\./],
  ['[]\n[]', /^Line 2 has text after the end of the array\./],
  [`["${'a'.repeat(LONGEST)}"`, /^The row that begins in line 1 is longer than 100 characters\./],
];
for (const [text, message] of wrongArrays) {
  test(`the array ${JSON.stringify(text.slice(0, 16))} is refused with a message`, () => {
    assert.throws(() => read(createArrayReader(LONGEST), [text]), { message });
  });
}

test('lines are returned one by one, without blank ones', () => {
  assert.deepEqual(read(createLinesReader(LONGEST), ['1\r\n\n', '2', '3\n 4']), [
    { line: 1, text: '1\r' },
    { line: 3, text: '23' },
    { line: 4, text: ' 4' },
  ]);
  assert.throws(() => read(createLinesReader(LONGEST), ['1\n', 'a'.repeat(101)]), {
    message: /begins in line 2/,
  });
});
