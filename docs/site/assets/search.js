import MiniSearch from 'minisearch';

/** What people type, and what the documentation calls it. */
const SYNONYMS = {
  pagination: 'cursor link',
  paging: 'cursor link',
  healthcheck: 'health readyz',
  'dead letter': 'redeliver',
  dlq: 'redeliver',
  'api key': 'token',
  'rate limit': '42900',
  docker: 'container',
  'environment variable': 'configuration',
  k8s: 'kubernetes',
  sdk: 'client',
  swagger: 'openapi',
  sse: 'stream',
};
const MOST_FOUND = 12;
const EXCERPT = 150;
const { base, index } = document.body.dataset;

export function offerSearch() {
  const search = document.querySelector('.search');
  const input = search.querySelector('input');
  const status = search.querySelector('[role=status]');
  const list = search.querySelector('.found');
  let loading;

  // What fails is said once somebody searches.
  input.addEventListener('focus', () => void load().catch(() => (loading = undefined)));
  input.addEventListener('input', update);
  document.addEventListener('keydown', (event) => {
    const isTyping = /^(?:INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      input.focus();
    } else if (event.key === 'Escape' && !list.hidden) {
      list.hidden = true;
      input.focus();
    }
  });
  search.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const places = [input, ...list.querySelectorAll('a')];
      places.at((places.indexOf(document.activeElement) + step) % places.length).focus();
    } else if (event.key === 'Enter' && document.activeElement === input && !list.hidden) {
      list.querySelector('a')?.click();
    }
  });
  // It would cover what the focus reaches next.
  search.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget && !search.contains(relatedTarget)) list.hidden = true;
  });
  document.addEventListener('click', ({ target }) => {
    if (!search.contains(target) || target.closest('a')) list.hidden = true;
  });

  function load() {
    loading ??= loadIndex();
    return loading;
  }

  async function update() {
    if (input.value.trim() === '') {
      list.hidden = true;
      status.textContent = '';
      return;
    }
    let sections;
    try {
      sections = await load();
    } catch {
      loading = undefined;
      status.textContent = 'The search could not be loaded. Type on to try again.';
      show([make('li', status.textContent)]);
      return;
    }
    // The field may have been cleared meanwhile.
    if (input.value.trim() === '') return;
    const query = queryOf(input.value);
    const exact = sections.search(query);
    // With a slip in it, a word may be any that is close; longer ones may have two.
    const found = (exact.length > 0 ? exact : sections.search(query, { fuzzy: 0.3 })).slice(0, MOST_FOUND);
    const count = found.length === 1 ? '1 result' : `${found.length} results`;
    status.textContent = found.length < MOST_FOUND ? count : `The best ${MOST_FOUND} results`;
    show(found.length > 0 ? found.map(item) : [make('li', 'No results.')]);
  }

  function show(items) {
    list.replaceChildren(...items);
    list.hidden = false;
  }
}

/** Every section of the pages; those that people use stand before those that explain, and the changelog is last. */
async function loadIndex() {
  const { body } = await fetch(index);
  const sections = await new Response(body.pipeThrough(new DecompressionStream('gzip'))).json();
  const search = new MiniSearch({
    idField: 'url',
    fields: ['heading', 'page', 'text'],
    storeFields: ['heading', 'page', 'text'],
    searchOptions: {
      boost: { heading: 4, page: 2 },
      boostDocument: (url) => {
        if (/^(?:api|reference)\/(?!limits)/.test(url)) return 1.5;
        if (/^(?:how-to|tutorial)/.test(url)) return 1.3;
        // Its long sections have nearly all words.
        return url.startsWith('changelog') ? 0.3 : 1;
      },
      prefix: true,
    },
  });
  // In parts, so that typing does not wait.
  await search.addAllAsync(sections, { chunkSize: 100 });
  return search;
}

/** All words together; or, for what the documentation calls otherwise, all words of that. */
function queryOf(text) {
  const typed = text.trim().toLowerCase();
  // With its ending, as in "rate limiting".
  const others = Object.entries(SYNONYMS).map(([name, ours]) =>
    typed.replace(new RegExp(`\\b${name}\\w*`), ours),
  );
  const queries = [...new Set([typed, ...others])];
  return { combineWith: 'OR', queries: queries.map((query) => ({ combineWith: 'AND', queries: [query] })) };
}

function item({ id, page, heading, text, terms }) {
  const link = make('a', '', { href: base + id });
  link.append(make('strong', heading));
  if (heading !== page) link.append(make('small', page));
  const excerpt = make('span', '');
  excerpt.append(...marked(around(text, terms), terms));
  link.append(excerpt);
  const entry = make('li', '');
  entry.append(link);
  return entry;
}

function around(text, words) {
  const lower = text.toLowerCase();
  const found = words.map((word) => lower.indexOf(word)).filter((n) => n >= 0);
  // If all are in the heading or the title, from the beginning.
  const at = found.length === 0 ? 0 : Math.max(0, Math.min(...found) - 40);
  const start = at === 0 ? 0 : text.indexOf(' ', at) + 1;
  const cut = text.slice(start, start + EXCERPT);
  return `${start > 0 ? '… ' : ''}${cut}${start + EXCERPT < text.length ? ' …' : ''}`;
}

/** The text in pieces, the words in it marked. */
function marked(text, words) {
  const any = new RegExp(
    `(${words.map((word) => RegExp.escape?.(word) ?? word.replace(/\W/g, '\\$&')).join('|')})`,
    'i',
  );
  return text.split(any).map((piece, n) => (n % 2 === 1 ? make('mark', piece) : piece));
}

function make(tag, text, properties = {}) {
  const element = Object.assign(document.createElement(tag), properties);
  element.textContent = text;
  return element;
}
