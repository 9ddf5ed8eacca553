import { createRequire } from 'node:module';
import markdownIt, { type MarkdownIt, type RendererRule, type StateCore, type Token } from 'markdown-it';
import { inlinePicture, sizeOf } from './pictures.ts';
import { copyOf, linkTo, listingOf, pageOf, type Target, targetOf } from './sources.ts';

export type Heading = { level: number; id: string; text: string };
/** What is found under one heading, for the search; before the first one the heading is the page's. */
export type Section = { id: string; heading: string; text: string };

export type Rendered = {
  title: string;
  html: string;
  headings: Heading[];
  sections: Section[];
  /** Files other than pages that it links to. */
  files: Target[];
  /** The styles of the pictures in it, by the name of the picture. */
  pictures: Map<string, string>;
};

type Env = Rendered & { source: string };

type Highlighter = {
  getLanguage(name: string): unknown;
  highlight(text: string, options: { language: string }): { value: string };
};
// Its own types bring those of browsers, which differ from Node's.
const hljs: Highlighter = createRequire(import.meta.url)('highlight.js/lib/common');

const markdown: MarkdownIt = markdownIt({ typographer: false, linkify: false });
markdown.core.ruler.push('anchors', nameHeadings);
markdown.core.ruler.push('links', leadLinks);
markdown.core.ruler.push('pictures', freePictures);
markdown.core.ruler.push('sections', collectSections);
const { escapeHtml } = markdown.utils;

/** Renders a page as the forge does: the same anchors, tables and blocks of code. */
export function render(source: string, text: string): Rendered {
  const empty = { title: '', html: '', headings: [], sections: [], files: [], pictures: new Map() };
  const env: Env = { ...empty, source };
  const html = markdown.render(text, env);
  return { ...env, html };
}

/** Of tokens that `render` parsed. */
function envOf(state: { env?: unknown }): Env {
  // `render` is the only caller, and gives an Env.
  return state.env as Env;
}

/** Fragments as forges make them; a second one of a name gets a number. */
function nameHeadings(state: StateCore): void {
  const env = envOf(state);
  const seen = new Map<string, number>();
  state.tokens.forEach((token, n) => {
    if (token.type !== 'heading_open') return;
    const text = plainText(state.tokens[n + 1]);
    const name = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    const id = count === 0 ? name : `${name}-${count}`;
    token.attrSet('id', id);
    const level = Number(token.tag.slice(1));
    if (level === 1) env.title ||= text;
    else env.headings.push({ level, id, text });
  });
}

/** Links between files of the project become links between pages of the site. */
function leadLinks(state: StateCore): void {
  const env = envOf(state);
  for (const { children } of state.tokens) {
    let isDropped = false;
    for (const token of children ?? []) {
      if (token.type === 'link_open') {
        const target = targetOf(env.source, String(token.attrGet('href')));
        const href = hrefOf(env.source, target);
        isDropped = target.kind === 'none';
        if (href !== undefined) token.attrSet('href', href);
        if (target.kind === 'listing' || target.kind === 'copy') env.files.push(target);
      }
      if (isDropped && token.type.startsWith('link_')) token.hidden = true;
    }
  }
}

function hrefOf(source: string, target: Target): string | undefined {
  const from = pageOf(source);
  switch (target.kind) {
    case 'page': {
      const fragment = target.fragment === '' ? '' : `#${target.fragment}`;
      return target.source === source && fragment ? fragment : linkTo(from, pageOf(target.source)) + fragment;
    }
    case 'listing':
      return linkTo(from, listingOf(target.source));
    case 'copy':
      return linkTo(from, copyOf(target.source));
    default:
      return undefined;
  }
}

/** A picture stands by itself, in no paragraph. */
function freePictures(state: StateCore): void {
  state.tokens.forEach((token, n) => {
    const [only, ...others] = token.children ?? [];
    if (token.type !== 'inline' || only?.type !== 'image' || others.length > 0) return;
    for (const around of [state.tokens[n - 1], state.tokens[n + 1]]) if (around) around.hidden = true;
  });
}

function collectSections(state: StateCore): void {
  const env = envOf(state);
  let section: Section = { id: '', heading: env.title, text: '' };
  env.sections.push(section);
  state.tokens.forEach((token, n) => {
    if (token.type === 'heading_open' && token.tag !== 'h1') {
      section = { id: String(token.attrGet('id')), heading: plainText(state.tokens[n + 1]), text: '' };
      env.sections.push(section);
    } else if (token.type === 'fence' || token.type === 'inline') {
      const isHeading = state.tokens[n - 1]?.type === 'heading_open';
      if (!isHeading) section.text += `${token.type === 'fence' ? token.content : plainText(token)} `;
    }
  });
}

function plainText(token: Token | undefined): string {
  return (token?.children ?? [])
    .map(({ type, content }) =>
      type === 'softbreak' ? ' ' : /^(?:text|code_inline)$/.test(type) ? content : '',
    )
    .join('');
}

/** A block of code, highlighted if its language is known. In a dialogue with a terminal, what is typed is marked. */
export function codeBlock(text: string, language: string): string {
  const code = language === 'console' ? dialogue(text) : highlight(text, language);
  const button = '<button type="button" class="copy">Copy</button>';
  return `<div class="code"><pre tabindex="0"><code>${code}</code></pre>${button}</div>\n`;
}

function highlight(text: string, language: string): string {
  return hljs.getLanguage(language) ? hljs.highlight(text, { language }).value : escapeHtml(text);
}

function dialogue(text: string): string {
  let isCommand = false;
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const isFirst = line.startsWith('$ ');
      const isTyped = isFirst || isCommand;
      isCommand = isTyped && line.endsWith('\\');
      if (!isTyped) return `<span class="answer">${escapeHtml(line)}</span>\n`;
      const prompt = isFirst ? '<span class="prompt">$ </span>' : '';
      return `${prompt}<span class="typed">${highlight(isFirst ? line.slice(2) : line, 'bash')}</span>\n`;
    })
    .join('');
}

/** Consecutive blocks that have a label after their language, such as `bash curl`, become tabs, without a script. */
function fence(tokens: readonly Token[], n: number): string {
  const wordsAt = (at: number) => (tokens[at]?.type === 'fence' ? tokens[at].info.trim().split(' ') : []);
  const labelAt = (at: number) => wordsAt(at)[1];
  const [language = ''] = wordsAt(n);
  const block = codeBlock(tokens[n]?.content ?? '', language);
  const label = labelAt(n);
  if (label === undefined) return block;
  let first = n;
  while (labelAt(first - 1) !== undefined) first--;
  const checked = first === n ? ' checked' : '';
  const tab = `<label><input type="radio" name="tabs-${first}" value="${label}"${checked}>${label}</label>${block}`;
  const start = first === n ? '<div class="tabs" role="group" aria-label="Examples">\n' : '';
  return start + tab + (labelAt(n + 1) === undefined ? '</div>\n' : '');
}

const rules: Record<string, RendererRule> = {
  fence,
  link_open: (tokens, n, options, _env, self) =>
    tokens[n]?.hidden ? '' : self.renderToken(tokens, n, options),
  table_open: () => '<div class="table" role="group" aria-label="Table" tabindex="0"><table>\n',
  table_close: () => '</table></div>\n',
  heading_close: (tokens, n) => {
    const id = tokens[n - 2]?.attrGet('id');
    const anchor = `<a class="anchor" href="#${id}" aria-hidden="true" tabindex="-1">#</a>`;
    return `${tokens[n]?.tag === 'h1' ? '' : anchor}</${tokens[n]?.tag}>\n`;
  },
  // A heading of a column that says nothing is none.
  th_open: (tokens, n, options, _env, self) =>
    tokens[n + 1]?.content ? self.renderToken(tokens, n, options) : '<td>',
  th_close: (tokens, n) => (tokens[n - 1]?.content ? '</th>\n' : '</td>\n'),
  image: (tokens, n, _options, env) => {
    const src = String(tokens[n]?.attrGet('src'));
    return src.endsWith('.svg')
      ? drawing(envOf({ env }), src)
      : photo(envOf({ env }), src, tokens[n]?.content ?? '');
  },
};
Object.assign(markdown.renderer.rules, rules);

function drawing({ source, pictures }: Env, src: string): string {
  const { name, svg, style } = inlinePicture(source, src);
  pictures.set(name, style);
  return `<figure class="picture" id="picture-${name}" tabindex="0">${svg}</figure>\n`;
}

/** With its size, so that nothing moves when it arrives. */
function photo({ source, files }: Env, src: string, alt: string): string {
  const target = targetOf(source, src);
  files.push(target);
  const size = target.kind === 'copy' ? sizeOf(target.source) : '';
  const href = hrefOf(source, target) ?? src;
  return `<figure class="photo"><img src="${escapeHtml(href)}" alt="${escapeHtml(alt)}"${size} loading="lazy"></figure>\n`;
}
