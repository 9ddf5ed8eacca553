import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, sep } from 'node:path';

/** Where the project is. */
export const root = join(import.meta.dirname, '..', '..');

/** The Markdown that becomes pages, by path from the root of the project. */
export function pageSources(): string[] {
  const found = globSync(['*.md', 'docs/**/*.md', 'examples/*.md'], { cwd: root });
  return found.map((path) => path.replaceAll(sep, '/')).sort();
}

/** Without the comment at the head of generated pages. */
export function readSource(source: string): string {
  return readFileSync(join(root, source), 'utf8').replace(/^<!--.*?-->\s*/s, '');
}

/** The index of the operations, which is at `/docs/api` as the contract says, and the folder of their pages. */
export const OPERATIONS = 'docs/reference/operations.md';
export const OPERATION = 'docs/reference/operations/';

/** The file of a page within the site. The table of contents is where the site begins. */
export function pageOf(source: string): string {
  if (source === 'README.md') return 'plant-store.html';
  if (source === OPERATIONS) return 'api/index.html';
  const path = source
    .replace(OPERATION, 'api/')
    .replace(/^docs\//, '')
    .replace(/README\.md$/, 'index.md');
  return path.replace(/\.md$/, '.html').toLowerCase();
}

/** What a link in a page leads to. */
export type Target =
  | { kind: 'page'; source: string; fragment: string }
  /** A file that is shown as a page of its own, with its text as it is. */
  | { kind: 'listing'; source: string }
  /** A file that is in the site as it is. */
  | { kind: 'copy'; source: string }
  /** Elsewhere: the link stays as it is written. */
  | { kind: 'outside' }
  /** No part of the site, such as a test: its text remains, without a link. */
  | { kind: 'none' };

export function targetOf(from: string, link: string): Target {
  if (/^[a-z]+:/i.test(link)) return { kind: 'outside' };
  const [path = '', fragment = ''] = link.split('#');
  const source = path === '' ? from : posix.join(dirname(from), path);
  if (source.endsWith('.md')) return { kind: 'page', source, fragment };
  if (!isShown(source)) return { kind: 'none' };
  // A dashboard is to be imported into Grafana, and a list of plants into the store, not to be read.
  return { kind: /\.(?:csv|json|png)$/.test(source) ? 'copy' : 'listing', source };
}

/** Where a file is that is in the site as it is. */
export function copyOf(source: string): string {
  return source.replace(/^docs\//, '');
}

/** The page that shows a file. */
export function listingOf(source: string): string {
  return `files/${source.replace(/^\./, 'dot-')}.html`;
}

/** From one file of the site to another. */
export function linkTo(from: string, to: string): string {
  return posix.relative(dirname(from), to) || posix.basename(to);
}

/** A build from fewer files, such as that of the image, shows fewer of them. */
function isShown(source: string): boolean {
  if (/^test(?:kit)?\//.test(source) || !existsSync(join(root, source))) return false;
  return statSync(join(root, source)).isFile();
}
