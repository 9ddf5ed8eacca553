import type { Signal } from '@preact/signals';
import type { Position } from '../pages-of-list.ts';
import { Button } from './button.tsx';

type PagerProps = {
  position: Signal<Position>;
  /** The cursor of the next page, if there is one. */
  next: string | undefined;
  isLoading: boolean;
};

/** First, previous, next: cursors only lead forward, so those of earlier pages are remembered. */
export function Pager({ position, next, isLoading }: PagerProps) {
  const { cursors } = position.value;
  if (cursors.length === 0 && next === undefined) return null;
  const turn = (wanted: readonly string[]) => {
    position.value = { cursors: wanted };
    scrollTo(0, 0);
  };
  const atStart = cursors.length === 0 ? 'This is the first page.' : undefined;
  const atEnd = next === undefined && !isLoading ? 'This is the last page.' : undefined;
  const turnOn = () => {
    if (next !== undefined && !isLoading) turn([...cursors, next]);
  };
  return (
    <nav class="pager" aria-label="Pages">
      <Button icon="first" look="quiet" refusal={atStart} onClick={() => turn([])}>
        First
      </Button>
      <Button icon="previous" look="quiet" refusal={atStart} onClick={() => turn(cursors.slice(0, -1))}>
        Previous
      </Button>
      <span class="pager-place" role="status">
        Page {cursors.length + 1}
      </span>
      <Button icon="next" look="quiet" refusal={atEnd} onClick={turnOn}>
        Next
      </Button>
    </nav>
  );
}
