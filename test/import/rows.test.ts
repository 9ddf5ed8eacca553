import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnsOf, rowOf, rowOfJson } from '../../src/import/rows.ts';

const all = columnsOf(['id', 'name', 'tag']);

test('columns may be in any order and case, with a byte order mark and blanks around their names', () => {
  const columns = columnsOf(['\uFEFF TAG', 'Name ', 'id']);
  assert.deepEqual(rowOf(columns, { line: 2, cells: ['Alnus', 'Alder', '7'] }), {
    line: 2,
    draft: { id: 7n, name: 'Alder', tag: 'Alnus' },
  });
});

const wrongHeaders: readonly [string[], RegExp][] = [
  [['id', 'tag'], /^There is no column "name"\. The first line must name the columns: .*id,name,tag$/],
  [['name', 'colour'], /^Column 2 is named "colour"\./],
  [['name', 'name'], /^The column "name" appears twice\./],
  [['Alder'], /^Column 1 is named "Alder"\./],
  [['name;tag'], /^Column 1 is named "name;tag"\./],
];
for (const [header, message] of wrongHeaders) {
  test(`the header ${header.join()} is refused with a message`, () => {
    assert.throws(() => columnsOf(header), { message });
  });
}

test('an empty id or tag counts as absent, and a name keeps its blanks', () => {
  assert.deepEqual(rowOf(all, { line: 3, cells: ['', ' Alder ', ''] }), {
    line: 3,
    draft: { name: ' Alder ' },
  });
});

test('the columns of an error report are skipped, so that it can be imported unchanged', () => {
  const columns = columnsOf(['name', 'line', 'error']);
  assert.deepEqual(rowOf(columns, { line: 2, cells: ['Alder', '7', 'The service was closed.'] }), {
    line: 2,
    draft: { name: 'Alder' },
  });
  assert.deepEqual(
    columns.own.map(({ title }) => title),
    ['name'],
  );
});

const wrongCells: readonly [string[], RegExp][] = [
  [['1', '', ''], /^There is no name\.$/],
  [['1', ' \t', ''], /^The name must be a string of 1 to 255 Unicode code points, not only white space/],
  [['1', '\u0085', ''], /^The name must be .*not only white space/],
  [['1', 'a'.repeat(256), ''], /^The name must be/],
  [['1', '\u{1f331}'.repeat(256), ''], /^The name must be/],
  [['1', 'a\0', ''], /^The name must be/],
  [['1', 'a', 't'.repeat(256)], /^The tag must be a string of at most 255/],
  [['007', 'a', ''], /^The id must be a 64-bit integer/],
  [['9.2E+18', 'a', ''], /^The id must be/],
  [['9223372036854775808', 'a', ''], /^The id must be/],
  [['1', 'a', 'b', 'c'], /^The row has 4 cells, but the first line names 3 columns\./],
  [['1'], /^The row has 1 cell, but/],
];
for (const [cells, problem] of wrongCells) {
  test(`the row ${cells.join().slice(0, 30)} has a problem: ${problem.source.slice(1, 24)}`, () => {
    const row = rowOf(all, { line: 9, cells });
    assert.equal(row.line, 9);
    assert.match('problem' in row ? row.problem : '', problem);
  });
}

test('names of 255 code points outside the basic plane and 64-bit ids are accepted', () => {
  const name = '\u{1f331}'.repeat(255);
  assert.deepEqual(rowOf(all, { line: 2, cells: ['-9223372036854775808', name, ''] }), {
    line: 2,
    draft: { id: -(2n ** 63n), name },
  });
});

test('a JSON row is an object with the members of a plant', () => {
  assert.deepEqual(rowOfJson({ id: 2n ** 63n - 1n, name: 'Alder', tag: '' }, 1), {
    line: 1,
    draft: { id: 2n ** 63n - 1n, name: 'Alder', tag: '' },
  });
  assert.deepEqual(rowOfJson({ id: 7, name: 'Alder' }, 1), { line: 1, draft: { id: 7n, name: 'Alder' } });
});

const wrongValues: readonly [unknown, RegExp][] = [
  [[], /^The row is not a JSON object/],
  [null, /^The row is not a JSON object/],
  [{ name: 'a', colour: 'red' }, /^The row has an unknown member "colour"\./],
  [{ name: 'a', line: 5 }, /^The row has an unknown member "line"\./],
  [{ name: 7 }, /^The name must be/],
  [{ name: 'a\ud800' }, /^The name must be/],
  [{ name: 'a', tag: 'b\udc00' }, /^The tag must be/],
  [{ name: 'a', tag: null }, /^The tag must be/],
  [{ name: 'a', id: '7' }, /^The id must be/],
  [{ name: 'a', id: 2 ** 60 }, /^The id must be/],
];
for (const [value, problem] of wrongValues) {
  test(`the JSON row ${JSON.stringify(value)} has a problem`, () => {
    const row = rowOfJson(value, 1);
    assert.match('problem' in row ? row.problem : '', problem);
  });
}
