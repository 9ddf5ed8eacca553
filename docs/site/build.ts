import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readContents } from './contents.ts';
import { type Around, type Assets, layout } from './layout.ts';
import { codeBlock, type Rendered, render } from './markdown.ts';
import { copyOf, listingOf, pageOf, pageSources, readSource, root } from './sources.ts';

/**
 * `node docs/site/build.ts` makes the documentation into pages in `build/docs`, which the service serves at `/docs`. What
 * they say stands in the Markdown alone.
 */
const built = join(root, 'build', 'docs');

export function buildSite(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  const write = writerInto(folder);
  const pages = pageSources().map((source) => ({ source, ...render(source, readSource(source)) }));
  const assets = writeAssets(write, pages);
  const around = { groups: readContents(), assets };
  for (const page of pages)
    write(pageOf(page.source), layout({ ...page, path: pageOf(page.source) }, around));
  const files = new Map(pages.flatMap(({ files }) => files).map((file) => [JSON.stringify(file), file]));
  for (const file of files.values()) {
    if (file.kind === 'copy') write(copyOf(file.source), readFileSync(join(root, file.source)));
    if (file.kind === 'listing') write(listingOf(file.source), listing(file.source, around));
  }
  writeApiReference(write);
}

/** The interactive reference, as Swagger UI makes it of the service's document: `api/`. */
function writeApiReference(write: Write): void {
  const ours = join(import.meta.dirname, 'api');
  const library = join(root, 'node_modules', '@fastify', 'swagger-ui', 'static');
  const copy = (from: string, name: string) => write(`api/${name}`, readFileSync(join(from, name)));
  for (const name of ['index.html', 'page.css', 'start.js']) copy(ours, name);
  for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js']) copy(library, name);
  copy(join(import.meta.dirname, 'assets'), 'icon.svg');
}

/** A page that shows a file as it is. */
function listing(source: string, around: Around): string {
  const text = readFileSync(join(root, source), 'utf8');
  const html = `<h1><code>${source}</code></h1>\n${codeBlock(text, '')}`;
  return layout({ path: listingOf(source), title: source, html, headings: [], source }, around);
}

function writeAssets(write: Write, pages: readonly (Rendered & { source: string })[]): Assets {
  const asset = (name: string) => readFileSync(join(import.meta.dirname, 'assets', name), 'utf8');
  const pictures = new Map(pages.flatMap((page) => [...page.pictures]));
  return {
    css: writeCompressed(write, 'site.css', [asset('site.css'), ...pictures.values()].join('\n')),
    js: writeCompressed(write, 'site.js', asset('site.js')),
    icon: writeHashed(write, 'icon.svg', asset('icon.svg')),
    // Large, and seldom asked for: in the package and on its way only compressed; `site.js` unpacks it.
    index: writeHashed(write, 'index.json.gz', gzipSync(JSON.stringify(searchIndex(pages)))),
  };
}

/** For `assets/site.js`: each section with where it is, and what it says. */
function searchIndex(pages: readonly (Rendered & { source: string })[]) {
  return pages.flatMap(({ source, title, sections }) =>
    sections.map(({ id, heading, text }) => ({
      url: pageOf(source) + (id === '' ? '' : `#${id}`),
      page: title,
      heading,
      text: text.replace(/\s+/g, ' ').trim(),
    })),
  );
}

/** Into `assets/`, where a file never changes: its name has a hash of what is in it. */
function writeHashed(write: Write, name: string, content: string | Buffer): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 10);
  const path = `assets/${name.replace('.', `-${hash}.`)}`;
  write(path, content);
  return path;
}

/** With `x.gz` beside it, so that the service compresses nothing. */
function writeCompressed(write: Write, name: string, content: string): string {
  const path = writeHashed(write, name, content);
  write(`${path}.gz`, gzipSync(content));
  return path;
}

type Write = (path: string, content: string | Buffer) => void;

function writerInto(folder: string): Write {
  return (path, content) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  };
}

if (import.meta.main) buildSite(built);
