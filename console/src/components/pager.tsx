import { useRef } from 'preact/hooks';
import type { Resource } from '../resource.ts';
import { place, type Query, turn } from '../router.ts';
import { Button } from './button.tsx';

/** The cursor of the last page, where the list has one. */
export const LAST = 'last';
/** With 50 rows a page: the API counts at most 1 000 back from the end. */
const MOST_FROM_END = 19;

/** A page that is counted from the end, where 1 is the last page; undefined for any other page. */
export function pageFromEnd(query: URLSearchParams): number | undefined {
  if (query.get('cursor') !== LAST) return undefined;
  const page = Math.trunc(Number(query.get('page'))) || 1;
  return Math.min(Math.max(1, page), MOST_FROM_END);
}

/** `hasBefore`: of a page that is counted from the end, whether another one comes before it. */
type ListPage = { next: string | undefined; hasBefore?: boolean };

type PagerProps = {
  list: Resource<ListPage>;
  hasLast?: boolean;
  /** What the address must say as well, because the cursors belong to it. */
  also?: Query;
};

/**
 * Cursors only lead forward, so the history remembers those of earlier pages. Pages that **Last** leads to are counted
 * from the end.
 */
export function Pager({ list, hasLast = false, also }: PagerProps) {
  const { query, earlier } = place.value;
  const { value } = list.state.value;
  const cursor = query.get('cursor') ?? '';
  const fromEnd = pageFromEnd(query);
  const page = fromEnd ?? (cursor === '' ? 1 : Number(query.get('page')) || 2);
  // While a page loads, the value and its cursor are still those of the page before.
  const current = list.isStale ? undefined : value;
  const wasShown = useRef(false);
  const isOnly = cursor === '' && (list.isStale ? !wasShown.current : current?.next === undefined);
  wasShown.current = !isOnly;
  if (isOnly) return null;

  const atStart = cursor === '' || current?.hasBefore === false ? 'This is the first page.' : undefined;
  const isFar = fromEnd === MOST_FROM_END;
  const isLost = fromEnd === undefined && earlier.length === 0;
  const noWayBack = atStart ?? (isFar ? TOO_FAR : isLost ? LINKED : undefined);
  const isAtEnd = fromEnd === undefined ? current !== undefined && current.next === undefined : fromEnd === 1;
  const atEnd = isAtEnd ? 'This is the last page.' : undefined;

  function turnBack(): void {
    if (fromEnd === undefined) turn(page - 1, earlier.at(-1) || undefined, earlier.slice(0, -1), also);
    else turn(fromEnd + 1, LAST, [], also);
  }

  function turnOn(): void {
    if (fromEnd !== undefined) turn(fromEnd - 1, LAST, [], also);
    else if (current?.next !== undefined) turn(page + 1, current.next, [...earlier, cursor], also);
  }

  return (
    <nav class="pager" aria-label="Pages">
      <Button
        icon="first"
        refusal={cursor === '' ? atStart : undefined}
        onClick={() => turn(1, undefined, [], also)}
      >
        First
      </Button>
      <Button icon="previous" refusal={noWayBack} onClick={turnBack}>
        Previous
      </Button>
      <span class="pager-place" role="status">
        {fromEnd === undefined ? `Page ${page}` : fromEnd === 1 ? 'Last page' : `Page ${page} from the end`}
      </span>
      <Button icon="next" refusal={atEnd} onClick={turnOn}>
        Next
      </Button>
      {hasLast && (
        <Button icon="last" refusal={atEnd} onClick={() => turn(1, LAST, [], also)}>
          Last
        </Button>
      )}
    </nav>
  );
}

const LINKED = 'You came here by a link; start at the first page.';
const TOO_FAR = 'Pages lead no further back from the end; start at the first page.';
