import { CONTENTS, type Entry, type Group } from './contents.ts';
import type { Heading } from './markdown.ts';
import { linkTo, pageOf } from './sources.ts';

/** The files that every page loads, by where they are in the site. */
export type Assets = { css: string; js: string; icon: string; index: string };
export type Around = { groups: Group[]; assets: Assets };
export type PageParts = {
  /** Where it is in the site. */
  path: string;
  title: string;
  html: string;
  headings: Heading[];
  /** What it is made from; missing in the contents for a listing. */
  source: string;
};

/** A whole page. Every URL in it is relative, so that the site works wherever a proxy puts it. */
export function layout(page: PageParts, around: Around): string {
  const { path, title, html, source } = page;
  const to = (file: string) => linkTo(path, file);
  const { css, js, icon, index } = around.assets;
  const home = to('index.html');
  const base = to('x').slice(0, -1);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeText(title)}${source === CONTENTS ? '' : ' · Documentation'} · Plant Store</title>
<link rel="icon" type="image/svg+xml" href="${to(icon)}">
<link rel="stylesheet" href="${to(css)}">
<script src="${to(js)}" defer></script>
</head>
<body data-base="${base}" data-index="${to(index)}">
<a class="skip" href="#text">Skip to the text</a>
<header class="top">
<button type="button" class="menu" popovertarget="pages">Pages</button>
<a class="brand" href="${home}" aria-label="Plant Store, documentation">${LOGO}<span>Plant Store</span></a>
<div class="search" role="search">
<label class="hidden" for="query">Search the documentation</label>
<input id="query" type="search" placeholder="Search  /" autocomplete="off" spellcheck="false">
<p class="hidden" role="status"></p>
<ol class="found" hidden></ol>
</div>
<nav class="places" aria-label="The service"><a href="${base}api/">API</a><a href="${base}../console/">Console</a></nav>
</header>
<div class="frame">
<nav class="pages" id="pages" popover aria-label="Pages">
${pagesNav(page, around)}</nav>
<main id="text" tabindex="-1"${source === CONTENTS ? ' class="start"' : ''}>
${contentsButton(page.headings)}<article>
${html}</article>
${turnNav(page, around)}</main>
${contentsNav(page.headings)}</div>
</body>
</html>
`;
}

/** The groups can be folded; that of the page is open, and at the start of the site all are. */
function pagesNav({ path, source }: PageParts, { groups }: Around): string {
  const holds = (entry: Entry): boolean => entry.source === source || entry.below.some(holds);
  const item = (entry: Entry): string => {
    const current = entry.source === source ? ' aria-current="page"' : '';
    const below = holds(entry) ? listOf(entry.below) : '';
    return `<li><a href="${linkTo(path, pageOf(entry.source))}"${current}>${escapeText(entry.label)}</a>${below}</li>\n`;
  };
  const listOf = (entries: Entry[]) =>
    entries.length === 0 ? '' : `<ul>\n${entries.map(item).join('')}</ul>`;
  return groups
    .map(({ label, entries }) => {
      const isOpen = source === CONTENTS || entries.some(holds);
      return `<details${isOpen ? ' open' : ''}>\n<summary>${escapeText(label)}</summary>\n${listOf(entries)}</details>\n`;
    })
    .join('');
}

function listed(headings: Heading[]): Heading[] {
  return headings.filter(({ level }) => level <= 3);
}

function contentsButton(headings: Heading[]): string {
  if (listed(headings).length < 2) return '';
  return '<button type="button" class="menu" popovertarget="contents">On this page</button>\n';
}

function contentsNav(headings: Heading[]): string {
  const items = listed(headings);
  if (items.length < 2) return '';
  const list = items.map(
    ({ level, id, text }) => `<li class="level-${level}"><a href="#${id}">${escapeText(text)}</a></li>\n`,
  );
  return `<nav class="contents" id="contents" popover aria-label="On this page">
<p class="label">On this page</p>
<ul>\n${list.join('')}</ul></nav>\n`;
}

/** The pages before and after it, in the order of the contents. */
function turnNav({ path, source }: PageParts, { groups }: Around): string {
  const order = groups.flatMap(({ entries }) => entries.flatMap((entry) => [entry, ...entry.below]));
  const at = order.findIndex((entry) => entry.source === source);
  const link = (entry: Entry | undefined, rel: 'prev' | 'next', label: string) =>
    entry
      ? `<a rel="${rel}" href="${linkTo(path, pageOf(entry.source))}"><small>${label}</small> ${escapeText(entry.label)}</a>\n`
      : '';
  if (at < 0 && source !== CONTENTS) return '';
  const links = link(order[at - 1], 'prev', 'Before') + link(order[at + 1], 'next', 'Next');
  return `<nav class="turn" aria-label="Before and next">\n${links}</nav>\n`;
}

export function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** The plant of the Plant Store, as the console has it. */
const LOGO = `<svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
<rect class="logo-ground" width="32" height="32" rx="9"/>
<path class="logo-leaf" d="M16 15.5C16 10 12 7 6.5 7c0 6 3 9.5 9.5 8.5Z"/>
<path class="logo-leaf light" d="M16 19c0-5 3.5-8 9.5-8 0 5.8-3.3 8.6-9.5 8Z"/>
<path class="logo-stem" d="M16 26V14.5"/>
</svg>`;
