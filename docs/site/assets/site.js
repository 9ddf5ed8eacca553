// What the pages of the documentation do beyond being read: search, copy code, remember the chosen tab, try an operation.
// Without it nothing is missing that is written in them.
import { kept } from './kept.js';
import { offerSearch } from './search.js';
import { offerTrial } from './try-it.js';

offerCopies();
offerSearch();
rememberTabs();
showPlace();
for (const trial of document.querySelectorAll('.try')) offerTrial(trial);

function offerCopies() {
  for (const block of document.querySelectorAll('.code')) {
    const button = block.querySelector('.copy');
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(copied(block));
        button.textContent = 'Copied';
      } catch {
        // Over plain http to another machine there is no clipboard: selecting does what can be done.
        getSelection().selectAllChildren(block.querySelector('code'));
        button.textContent = 'Selected';
      }
      setTimeout(() => (button.textContent = 'Copy'), 2000);
    });
  }
}

/** Of a dialogue with a terminal only what is typed. */
function copied(block) {
  const typed = [...block.querySelectorAll('.typed')].map(({ textContent }) => textContent);
  return typed.length > 0 ? typed.join('\n') : block.querySelector('code').textContent;
}

/** Whoever reads the example for one program wants it on the next page, too. */
function rememberTabs() {
  const choose = (value) => {
    for (const tab of document.querySelectorAll('.tabs input')) tab.checked ||= tab.value === value;
  };
  choose(kept.getItem('tab'));
  document.addEventListener('change', ({ target }) => {
    if (!target.closest('.tabs')) return;
    kept.setItem('tab', target.value);
    choose(target.value);
  });
}

/** In both tables of contents the place where the reader is can be seen. */
function showPlace() {
  const pages = document.querySelector('.pages');
  const contents = document.querySelector('.contents');
  const current = pages.querySelector('[aria-current]');
  if (current) pages.scrollTop = current.offsetTop - pages.clientHeight / 3;
  const links = new Map(
    [...document.querySelectorAll('.contents a')].map((link) => [
      decodeURIComponent(link.hash.slice(1)),
      link,
    ]),
  );
  const headings = [...links.keys()].map((id) => document.getElementById(id));
  if (headings.length === 0) return;
  const update = () => {
    const above = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
    const here = links.get((above.at(-1) ?? headings[0]).id);
    for (const link of links.values()) {
      if (link === here) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
    if (here) contents.scrollTop = here.offsetTop - contents.clientHeight / 2;
  };
  const watcher = new IntersectionObserver(update, { rootMargin: '-80px 0px 0px', threshold: [0, 1] });
  for (const heading of headings) watcher.observe(heading);
  for (const nav of document.querySelectorAll('nav[popover]')) {
    nav.addEventListener(
      'click',
      ({ target }) => target.closest('a') && nav.matches(':popover-open') && nav.hidePopover(),
    );
  }
}
