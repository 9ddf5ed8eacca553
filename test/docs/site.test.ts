import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { buildSite } from '../../docs/site/build.ts';
import { CONTENTS, type Entry, readContents } from '../../docs/site/contents.ts';
import { render } from '../../docs/site/markdown.ts';
import { pageSources } from '../../docs/site/sources.ts';

const folder = mkdtempSync(join(tmpdir(), 'plant-store-site-'));
after(() => rmSync(folder, { recursive: true, force: true }));
await buildSite(folder);
const pages = new Map(
  globSync('**/*.html', { cwd: folder }).map((page) => [page, readFileSync(join(folder, page), 'utf8')]),
);

test('every page is in the table of contents once', () => {
  const sourcesIn = (entries: Entry[]): string[] =>
    entries.flatMap(({ source, below }) => [source, ...sourcesIn(below)]);
  const listed = readContents().flatMap(({ entries }) => sourcesIn(entries));
  assert.deepEqual([CONTENTS, ...listed].sort(), pageSources());
});

test('every link and file of a page exists, and so does every fragment', () => {
  const broken = [...pages].flatMap(([page, html]) =>
    [...html.matchAll(/\b(?:href|src|data-index)="([^"]*)"/g)]
      .map(([, link = '']) => link)
      .filter((link) => !leadsSomewhere(page, link))
      .map((link) => `${page}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

test('the search knows every section by its link', () => {
  const [index = ''] = globSync('assets/index-*.json.gz', { cwd: folder });
  const sections: { url: string; heading: string; text: string }[] = JSON.parse(
    gunzipSync(readFileSync(join(folder, index))).toString(),
  );
  assert.deepEqual(
    sections.filter(({ url, heading }) => heading === '' || !leadsSomewhere('index.html', url)),
    [],
  );
  assert.ok(sections.some(({ text }) => text.includes('WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 npm start')));
});

test('no page has an inline script, style or handler, or needs another host', () => {
  for (const [page, html] of pages) {
    assert.doesNotMatch(html, /<script(?! src=)/, page);
    assert.doesNotMatch(html, /<style|\sstyle=|<[^>]*\son[a-z]+=/, page);
    assert.doesNotMatch(html, /<(?:script|link|img)[^>]*(?:src|href)="[a-z]+:/, page);
  }
});

test('a heading has the fragment that GitHub gives it, and the second of a name a number', () => {
  const { title, headings } = render('docs/x.md', '# X\n\n## `a` & B!\n\n## One\n\n## One\n');
  assert.equal(title, 'X');
  assert.deepEqual(
    headings.map(({ id }) => id),
    ['a--b', 'one', 'one-1'],
  );
});

test('HTML in Markdown is shown, not run', () => {
  const { html } = render(
    'docs/x.md',
    '# <b>X</b>\n\n<script>1</script> [y](javascript:alert)\n\n```\n<b>\n```\n',
  );
  assert.doesNotMatch(html, /<(?:b|script)>|href="javascript/);
});

test('a link to a test becomes text, one to an example a page with its lines', () => {
  const { html, files } = render('docs/x.md', '[held](../test/x.test.ts), [r](../examples/receiver.mjs)');
  assert.equal(html, '<p>held, <a href="files/examples/receiver.mjs.html">r</a></p>\n');
  assert.deepEqual(files, [{ kind: 'listing', source: 'examples/receiver.mjs' }]);
  assert.match(pages.get('files/examples/receiver.mjs.html') ?? '', /createHmac/);
});

test('blocks of code are highlighted by classes; with labels they are tabs, of which the first is chosen', () => {
  const { html } = render(
    'docs/x.md',
    '```bash curl\ncurl x\n```\n\n```ts Client\nawait x;\n```\n\n```text\nx\n```\n',
  );
  assert.match(html, /<span class="hljs-keyword">await<\/span>/);
  assert.deepEqual(html.match(/<input[^>]*>/g), [
    '<input type="radio" name="tabs-0" value="curl" checked>',
    '<input type="radio" name="tabs-0" value="Client">',
  ]);
  assert.match(html, /<\/div>\n<\/div>\n<div class="code"><pre tabindex="0"><code>x\n<\/code>/);
});

test('a photo is copied, and its place reserved while it loads', () => {
  const { html, files } = render('docs/how-to/x.md', '![The list.](../pictures/console-plants.png)');
  assert.match(
    html,
    /^<figure class="photo"><img src="\.\.\/pictures\/console-plants\.png" alt="The list\." width="\d+" height="\d+" /,
  );
  assert.deepEqual(files, [{ kind: 'copy', source: 'docs/pictures/console-plants.png' }]);
});

test('a column without a heading gets no heading, and the typed part of a dialogue is marked', () => {
  const table = render('docs/x.md', '| | A |\n|---|---|\n| x | y |\n').html;
  assert.equal(table.match(/<th>/g)?.length, 1);
  const dialogue = render('docs/x.md', '```console\n$ a \\\n  b\nanswer\n```\n').html;
  assert.deepEqual(
    [...dialogue.matchAll(/<span class="(\w+)">([^<]*)</g)].map(([, kind, text]) => [kind, text]),
    [
      ['prompt', '$ '],
      ['typed', 'a \\'],
      ['typed', '  b'],
      ['answer', 'answer'],
    ],
  );
});

test('every picture is inline, has a text alternative, and is the same in the dark', () => {
  const files = globSync('docs/**/*.svg', { cwd: join(import.meta.dirname, '..', '..') });
  assert.notEqual(files.length, 0);
  for (const file of files) {
    const svg = readFileSync(join(import.meta.dirname, '..', '..', file), 'utf8');
    assert.match(svg, /role="img" aria-labelledby="title desc"/, file);
    assert.match(svg, /<title id="title">[^<]+<\/title>\s*<desc id="desc">[^<]{80,}/, file);
    assert.match(svg, /prefers-color-scheme: dark/, file);
  }
});

function leadsSomewhere(page: string, link: string): boolean {
  if (/^https?:/.test(link)) return true;
  const [path = '', fragment] = link.split('#');
  const found = path === '' ? page : normalize(join(dirname(page), path));
  if (found === '../console/' || found === 'api/') return true;
  if (!existsSync(join(folder, found)) || !statSync(join(folder, found)).isFile()) return false;
  return fragment === undefined || (pages.get(found) ?? '').includes(` id="${fragment}"`);
}
