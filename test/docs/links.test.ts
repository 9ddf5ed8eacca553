import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');

const files = globSync('**/*.md', {
  cwd: ROOT,
  exclude: (name) => /(?:^|\/)(?:node_modules|data|\.git|\.cache)$/.test(name),
});
assert.notEqual(files.length, 0);

test('every relative link in the documentation points to a file, and its fragment to a heading', () => {
  const broken = files.flatMap((file) =>
    linksIn(read(file))
      .filter((link) => !leadsSomewhere(file, link))
      .map((link) => `${file}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

test('every page of docs/ is linked from another one', () => {
  const linked = new Set(
    files.flatMap((file) => linksIn(read(file)).map((link) => target(file, link.split('#')[0] ?? ''))),
  );
  const pages = files.map((file) => normalize(file)).filter((file) => file.startsWith('docs/'));
  assert.deepEqual(
    pages.filter((page) => !linked.has(page)),
    [],
  );
});

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** Targets of links and pictures, except those on other hosts. */
function linksIn(markdown: string): string[] {
  const links = withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g);
  return [...links].map(([, link = '']) => link).filter((link) => !/^[a-z]+:/i.test(link));
}

function leadsSomewhere(file: string, link: string): boolean {
  const [path = '', fragment] = link.split('#');
  const found = path === '' ? file : target(file, path);
  if (!existsSync(join(ROOT, found))) return false;
  return fragment === undefined || headingsIn(read(found)).includes(fragment);
}

function target(file: string, path: string): string {
  return normalize(join(dirname(file), path));
}

/** The fragments that GitHub gives to headings. */
function headingsIn(markdown: string): string[] {
  return [...withoutCode(markdown).matchAll(/^#+ +(.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^```.*?^```/gms, '');
}
