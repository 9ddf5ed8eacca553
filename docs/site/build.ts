import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { constants, gzipSync } from 'node:zlib';
import { build } from 'vite';
import { operations } from '../../src/http/routes/openapi.ts';
import { fileOf } from '../generate/operation-pages.ts';
import { readContents } from './contents.ts';
import { type Around, type Assets, layout } from './layout.ts';
import { codeBlock, type Rendered, render } from './markdown.ts';
import { copyOf, listingOf, OPERATION, pageOf, pageSources, readSource, root } from './sources.ts';
import { tryIt } from './try-it.ts';

/**
 * `node docs/site/build.ts` makes the documentation into pages in `build/docs`, which the service serves at `/docs`. What
 * they say stands in the Markdown alone.
 */
const built = join(root, 'build', 'docs');
/** With a compressed copy of each smaller file, too, the package would be a third larger. */
const SMALL_CHARACTERS = 20_480;

export async function buildSite(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const write = writerInto(folder);
  const pages = pageSources().map((source) => ({ source, ...render(source, readSource(source)) }));
  const assets = await writeAssets(write, pages);
  const around = { groups: readContents(), assets };
  const trials = new Map(
    Object.entries(operations).map(([id, operation]) => [OPERATION + fileOf(id), tryIt(operation)]),
  );
  for (const page of pages) {
    const trial = trials.get(page.source) ?? '';
    const html = page.html.replace('<h2', () => `${trial}<h2`);
    writeCompressed(write, pageOf(page.source), layout({ ...page, html, path: pageOf(page.source) }, around));
  }
  const files = new Map(pages.flatMap(({ files }) => files).map((file) => [JSON.stringify(file), file]));
  for (const file of files.values()) {
    if (file.kind === 'copy') write(copyOf(file.source), readFileSync(join(root, file.source)));
    if (file.kind === 'listing') {
      writeCompressed(write, listingOf(file.source), listing(file.source, around));
    }
  }
}

/** A page that shows a file as it is. */
function listing(source: string, around: Around): string {
  const text = readFileSync(join(root, source), 'utf8');
  const html = `<h1><code>${source}</code></h1>\n${codeBlock(text, extname(source).slice(1))}`;
  return layout({ path: listingOf(source), title: source, html, headings: [], source }, around);
}

type Page = Rendered & { source: string };

async function writeAssets(write: Write, pages: readonly Page[]): Promise<Assets> {
  const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
  const pictures = new Map(pages.flatMap((page) => [...page.pictures]));
  const icon = textOf('console/src/icon.svg');
  const index = smallest(JSON.stringify(searchIndex(pages)));
  const styles = ['console/src/styles/theme.css', 'docs/site/assets/site.css'].map(textOf);
  const css = [...styles, ...pictures.values()].join('\n');
  return {
    css: writeCompressed(write, hashed('site.css', css), css),
    js: await writeScript(write),
    icon: write(hashed('icon.svg', icon), icon),
    // Large, and seldom asked for: in the package and on its way only compressed; `search.js` unpacks it.
    index: write(hashed('index.json.gz', index), index),
  };
}

/** One file, with the library that searches. */
async function writeScript(write: Write): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'warn',
    build: { write: false, rolldownOptions: { input: join(import.meta.dirname, 'assets', 'site.js') } },
  });
  const [chunk] = 'output' in built ? built.output : [];
  if (chunk?.type !== 'chunk') throw new Error('Vite made no script.');
  return writeCompressed(write, hashed('site.js', chunk.code), chunk.code);
}

/** For `assets/search.js`: each section with where it is, and what it says. */
function searchIndex(pages: readonly Page[]) {
  return pages.flatMap(({ source, title, sections }) =>
    sections.map(({ id, heading, text }) => ({
      url: pageOf(source) + (id === '' ? '' : `#${id}`),
      page: title,
      heading,
      text: text.replace(/\s+/g, ' ').trim(),
    })),
  );
}

/** In `assets/`, where a file never changes: its name has a hash of what is in it. */
function hashed(name: string, content: string | Buffer): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 10);
  return `assets/${name.replace('.', `-${hash}.`)}`;
}

/** With `x.gz` beside it, so that the service compresses nothing. A small file has none. */
function writeCompressed(write: Write, path: string, content: string): string {
  if (content.length > SMALL_CHARACTERS) write(`${path}.gz`, smallest(content));
  return write(path, content);
}

/** The site is compressed once, and sent often. */
function smallest(text: string): Buffer {
  return gzipSync(text, { level: constants.Z_BEST_COMPRESSION });
}

/** Returns the path. */
type Write = (path: string, content: string | Buffer) => string;

function writerInto(folder: string): Write {
  return (path, content) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return path;
  };
}

if (import.meta.main) await buildSite(built);
