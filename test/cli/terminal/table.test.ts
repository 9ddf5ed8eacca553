import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { printLines, printTable } from '../../../src/cli/pages.ts';
import { renderTable } from '../../../src/cli/terminal/table.ts';
import { shellWord, visible } from '../../../src/cli/terminal/terminal.ts';

function lines(...rows: string[][]) {
  return renderTable(['NAME', 'END'], rows).slice(1);
}

test('columns are as wide as their widest cell, and no line ends in white space', () => {
  assert.deepEqual(lines(['a', 'x'], ['abcdef', '']), ['a       x', 'abcdef']);
});

test('columns line up after wide, joined and combining characters', () => {
  const rows = lines(
    ['abcd', '|'],
    ['木村', '|'],
    ['🌱🌱', '|'],
    ['👩‍🌾ab', '|'],
    ['e\u0301e\u0301cd', '|'],
    ['ｶﾅab', '|'],
  );
  assert.deepEqual(rows, ['abcd  |', '木村  |', '🌱🌱  |', '👩‍🌾ab  |', 'e\u0301e\u0301cd  |', 'ｶﾅab  |']);
});

test('characters that a terminal would obey or hide are shown as escapes', () => {
  assert.equal(visible('a\u001b[31m\u0007'), 'a\\u{1b}[31m\\u{7}');
  assert.equal(visible('a\r\nb\tc'), 'a\\u{d}\\u{a}b\\u{9}c');
  assert.equal(visible('abc\u202edef\u200b\ufeff\u2028'), 'abc\\u{202e}def\\u{200b}\\u{feff}\\u{2028}');
  assert.equal(visible('\ud800'), '\\u{d800}');
  assert.equal(visible('Ünal 木村 👩‍🌾'), 'Ünal 木村 👩‍🌾');
  assert.deepEqual(lines(['\u001b', '|']), ['\\u{1b}  |']);
});

test('a shell word keeps its content', () => {
  assert.equal(shellWord('http://[::1]:3000/a'), `'http://[::1]:3000/a'`);
  assert.equal(shellWord('ann@example.org'), 'ann@example.org');
  assert.equal(shellWord(`it's $HOME`), `'it'\\''s $HOME'`);
  assert.equal(shellWord(''), `''`);
});

type Pages = Parameters<typeof printLines<string>>[0];

const printed = {
  'a table': (pages: Pages) => printTable(pages, ['NAME'], (name) => [name]),
  lines: (pages: Pages) => printLines(pages, (name) => name),
};
for (const [kind, print] of Object.entries(printed)) {
  test(`a list whose reader reads nothing asks for no second page, as ${kind}`, async (t) => {
    const stdout = Object.getOwnPropertyDescriptor(process, 'stdout') ?? {};
    t.after(() => Object.defineProperty(process, 'stdout', stdout));
    Object.defineProperty(process, 'stdout', { value: new Writable({ write() {} }), configurable: true });
    let asked = 0;
    async function* pages() {
      for (const name of ['Alder', 'Beech']) {
        asked++;
        yield { items: [name], next: 'more' };
      }
    }
    void print(pages());
    await turn();
    assert.equal(asked, 1);
  });
}
