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
    } else if (event.key === 'Enter' && document.activeElement === input) {
      list.querySelector('a')?.click();
    }
  });
  document.addEventListener('click', ({ target }) => {
    if (!search.contains(target) || target.closest('a')) list.hidden = true;
  });

  function load() {
    loading ??= fetch(index).then(({ body }) =>
      new Response(body.pipeThrough(new DecompressionStream('gzip'))).json(),
    );
    return loading;
  }

  async function update() {
    const words = wordsIn(input.value);
    if (words.length === 0) {
      list.hidden = true;
      status.textContent = '';
      return;
    }
    let sections;
    try {
      sections = await load();
    } catch {
      loading = undefined;
      show([make('li', 'The search could not be loaded. Type on to try again.')]);
      return;
    }
    const found = find(sections, words);
    status.textContent = found.length === 1 ? '1 place found' : `${found.length} places found`;
    show(found.length > 0 ? found.map((section) => item(section, words)) : [make('li', 'Nothing is found.')]);
  }

  function show(items) {
    list.replaceChildren(...items);
    list.hidden = false;
  }
}

function wordsIn(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/** The sections that have every word, those first that have them in their headings. */
function find(sections, words) {
  const score = ({ page, heading, text }) => {
    const [ofPage, ofHeading, inText] = [page, heading, text].map((part) => part.toLowerCase());
    let sum = 0;
    for (const word of words) {
      const found = (ofHeading.includes(word) ? 8 : 0) + (ofPage.includes(word) ? 5 : 0);
      const times = inText.split(word).length - 1;
      if (found + times === 0) return 0;
      sum += found + Math.min(times, 4) + (ofHeading === word ? 8 : 0);
    }
    return sum;
  };
  return sections
    .map((section) => ({ section, score: score(section) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST_FOUND)
    .map(({ section }) => section);
}

function item({ url, page, heading, text }, words) {
  const link = make('a', '', { href: base + url });
  link.append(make('strong', heading));
  if (heading !== page) link.append(make('small', page));
  const excerpt = make('span', '');
  excerpt.append(...marked(around(text, words), words));
  link.append(excerpt);
  const entry = make('li', '');
  entry.append(link);
  return entry;
}

function around(text, words) {
  const lower = text.toLowerCase();
  const at = Math.max(
    0,
    Math.min(...words.map((word) => lower.indexOf(word)).filter((n) => n >= 0), text.length) - 40,
  );
  const start = at === 0 || at >= text.length ? 0 : text.indexOf(' ', at) + 1;
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
