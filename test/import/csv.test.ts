import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { type CsvRecord, createCsvReader, csvLine } from '../../src/import/csv.ts';

const LONGEST = 1_000;

/** @param cuts where to split the text */
function read(text: string, cuts: readonly number[] = [], longest = LONGEST): CsvRecord[] {
  const reader = createCsvReader(longest);
  const ends = [...cuts.toSorted((a, b) => a - b), text.length];
  const pieces = ends.map((end, index) => text.slice(index === 0 ? 0 : ends[index - 1], end));
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
}

test('each record has the line where it begins, even after multi-line values', () => {
  const text = 'name,tag\r\n"a\r\nb\nc",x\r\n\r\nd,"e ""f"""\r\n"",\n';
  assert.deepEqual(read(text), [
    { line: 1, cells: ['name', 'tag'] },
    { line: 2, cells: ['a\r\nb\nc', 'x'] },
    { line: 6, cells: ['d', 'e "f"'] },
    { line: 7, cells: ['', ''] },
  ]);
});

test('the first record tells whether commas, semicolons or tabs separate the cells', () => {
  const cells = (text: string) => read(text).map((record) => record.cells);
  assert.deepEqual(cells('\na;b\n1,5;"x;y"'), [
    ['a', 'b'],
    ['1,5', 'x;y'],
  ]);
  assert.deepEqual(cells('a\tb\n1;\t"x\ty"'), [
    ['a', 'b'],
    ['1;', 'x\ty'],
  ]);
  assert.deepEqual(cells('name\nOak; red'), [['name'], ['Oak; red']]);
});

test('a record with wrong quotes has a problem, and the next line is read normally', () => {
  const problems = read('5" pot,x\n"a"b,x\ngood,x\n"never,x\nlast,x').map(({ line, cells, problem }) => ({
    line,
    cells,
    isWrong: problem !== undefined,
  }));
  assert.deepEqual(problems, [
    { line: 1, cells: ['5" pot,x'], isWrong: true },
    { line: 2, cells: ['"a"b,x'], isWrong: true },
    { line: 3, cells: ['good', 'x'], isWrong: false },
    { line: 4, cells: ['"never,x'], isWrong: true },
    { line: 5, cells: ['last', 'x'], isWrong: false },
  ]);
});

test('a quote that is never closed needs no more memory than the longest record', () => {
  const records = read(`"a\n${'b\n'.repeat(LONGEST)}`);
  assert.equal(records.length, LONGEST + 1);
  assert.equal(records.filter(({ problem }) => problem !== undefined).length, 1);
});

test('a record that is too long is refused with its line', () => {
  assert.throws(
    () => read(`a\n${'b'.repeat(LONGEST + 1)}`),
    /^Error: Line 2 is longer than the 1000 characters/,
  );
});

test('a quote that a far line closes costs its own row only', () => {
  const far = 'b\n'.repeat(LONGEST);
  const records = read(`5,"a\n${far}5000,"`);
  assert.equal(records.length, LONGEST + 2);
  assert.deepEqual(
    records.filter(({ problem }) => problem !== undefined).map(({ line }) => line),
    [1, LONGEST + 2],
  );
});

test('any text gives the same records, or is refused in the same way, wherever it is split', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '"', ',', ';', '\t', '\r', '\n', '\n'),
    maxLength: 40,
  });
  const cuts = (length: number) => fc.array(fc.nat(length), { maxLength: 5 });
  const cutText = text.chain((whole) => fc.tuple(fc.constant(whole), cuts(whole.length)));
  const outcome = (...args: Parameters<typeof read>) => {
    try {
      return read(...args);
    } catch (error) {
      return String(error);
    }
  };
  fc.assert(
    fc.property(cutText, fc.constantFrom(4, LONGEST), ([whole, at], longest) =>
      assert.deepEqual(outcome(whole, at, longest), outcome(whole, [], longest)),
    ),
    { numRuns: 4_000 },
  );
});

test('a well-formed text is read like csv-parse reads it', () => {
  const cell = fc.string({
    unit: fc.constantFrom('a', 'é', '"', ',', ';', '\t', '\r\n', '\n', ' ', '\u{1f331}'),
    maxLength: 6,
  });
  const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 3 }), { maxLength: 6 });
  const [delimiters, lineBreaks] = [fc.constantFrom(',', ';', '\t'), fc.constantFrom('\n', '\r\n')];
  fc.assert(
    fc.property(table, delimiters, lineBreaks, (below, delimiter, record_delimiter) => {
      const rows = [['id', 'name'], ...below];
      const text = rows.map((cells) => csvLine(cells, delimiter).replace(/\n$/, record_delimiter)).join('');
      const cells = read(text).map((record) => record.cells);
      assert.deepEqual(cells, parse(text, { relax_column_count: true, delimiter, record_delimiter }));
      assert.deepEqual(cells, rows);
    }),
    { numRuns: 500 },
  );
});
