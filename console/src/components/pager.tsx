import { place, turn } from '../router.ts';
import { Button } from './button.tsx';

/** The cursor of the last page, where the list has one. */
export const LAST = 'last';

type PagerProps = {
  /** The cursor of the next page, if there is one. */
  next: string | undefined;
  isLoading: boolean;
  hasLast?: boolean;
};

/** Cursors only lead forward, so the history remembers those of earlier pages. */
export function Pager({ next, isLoading, hasLast = false }: PagerProps) {
  const { query, earlier } = place.value;
  const cursor = query.get('cursor') ?? '';
  const page = cursor === '' ? 1 : Number(query.get('page')) || 2;
  const isLast = cursor === LAST;
  if (page === 1 && next === undefined) return null;
  const atStart = page === 1 ? 'This is the first page.' : undefined;
  const isLost = !atStart && earlier.length === 0 ? (isLast ? NO_WAY_BACK : LINKED) : undefined;
  const atEnd = isLast || (next === undefined && !isLoading) ? 'This is the last page.' : undefined;
  const turnOn = () => {
    if (next !== undefined && !isLoading) turn(page + 1, next, [...earlier, cursor]);
  };
  const turnBack = () => turn(page - 1, earlier.at(-1) || undefined, earlier.slice(0, -1));
  return (
    <nav class="pager" aria-label="Pages">
      <Button icon="first" refusal={atStart} onClick={() => turn(1, undefined, [])}>
        First
      </Button>
      <Button icon="previous" refusal={atStart ?? isLost} onClick={turnBack}>
        Previous
      </Button>
      <span class="pager-place" role="status">
        {isLast ? 'Last page' : `Page ${page}`}
      </span>
      <Button icon="next" refusal={atEnd} onClick={turnOn}>
        Next
      </Button>
      {hasLast && (
        <Button icon="last" refusal={atEnd} onClick={() => turn(undefined, LAST, [])}>
          Last
        </Button>
      )}
    </nav>
  );
}

const LINKED = 'You came here by a link; start at the first page.';
const NO_WAY_BACK = 'Pages turn forward only; start at the first page.';
