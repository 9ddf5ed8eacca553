import { computed, signal } from '@preact/signals';
import { isHeld } from './hold.ts';

/**
 * A location in the console: `#/webhooks/wh_1?state=failed` has the path `/webhooks/wh_1` and the query
 * `state=failed`.
 */
export type Place = {
  path: string;
  query: URLSearchParams;
  /** The cursors of the pages before this page of a list, '' for the first; none if a link led here. */
  earlier: readonly string[];
};

export type Query = Record<string, string | undefined>;

const hash = signal(location.hash);
let isNextFocused = false;

addEventListener('hashchange', () => {
  if (location.hash === hash.peek()) return;
  if (isHeld()) history.pushState(null, '', hash.peek() || '#/');
  else arrive();
});

function arrive(): void {
  const before = place.peek().path;
  nextTakesFocus();
  hash.value = location.hash;
  // A page that stays, such as a list with another filter, may lose the element that had the focus.
  if (place.peek().path === before) focusHeading();
}

/** For controls that disappear when they are pressed. */
export function focusHeading(): void {
  document.querySelector('h1')?.focus({ preventScroll: true });
}

/** The current location. Only the part after `#` changes, so a proxy may serve the console at any path. */
export const place = computed<Place>(() => parse(hash.value));

/** The user leaves a page, or the sign-in: the page that follows takes the focus. */
export function nextTakesFocus(): void {
  isNextFocused = true;
}

/** Whether this page takes the focus. The first one does not, for the browser announces it. */
export function takesFocus(): boolean {
  return isNextFocused;
}

/** The address of a location, for `href`. Omits undefined query values. */
export function href(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, value);
  return `#${path}${search.size > 0 ? `?${search}` : ''}`;
}

export function go(path: string, query?: Query): void {
  location.hash = href(path, query);
  arrive();
}

/** Changes the query of a list, which begins again. Adds no history entry: Back leaves the list, not its filters. */
export function refine(changes: Query): void {
  const address = changed({ ...changes, cursor: undefined, page: undefined });
  try {
    history.replaceState(null, '', address);
  } catch {
    // Safari refuses more than 100 changes in 10 seconds, such as those of a key that is held down.
  }
  hash.value = address;
}

/**
 * Turns to a page of a list. The history remembers the cursors of the pages before it, also across a reload.
 * @param also what the address must say because the cursor belongs to it
 */
export function turn(
  page: number,
  cursor: string | undefined,
  earlier: readonly string[],
  also: Query = {},
): void {
  const number = cursor === undefined ? undefined : String(page);
  history.pushState(earlier, '', changed({ ...also, cursor, page: number }));
  hash.value = location.hash;
  scrollTo(0, 0);
}

function changed(changes: Query): string {
  const { path, query } = place.peek();
  return href(path, { ...Object.fromEntries(query), ...changes });
}

/** The values of `:names` in a pattern like `/webhooks/:id`; undefined when the path does not match. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const values: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const text = given[at] ?? '';
    if (part.startsWith(':')) values[part.slice(1)] = text;
    else if (part !== text) return undefined;
  }
  return values;
}

function parse(text: string): Place {
  const [path = '', search = ''] = text.replace(/^#/, '').split('?', 2);
  const plain = path.replace(/\/+$/, '');
  const earlier = Array.isArray(history.state) ? history.state : [];
  return { path: plain === '' ? '/' : decode(plain), query: new URLSearchParams(search), earlier };
}

/** A path with a broken escape matches no page: it is kept as it is, for the "not found" page. */
function decode(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
