import { type Signal, signal } from '@preact/signals';
import { session } from './session.ts';

/** The current page of a list: the cursors of the pages up to it. The first page has none. */
export type Position = { cursors: readonly string[] };

const positions = new Map<string, Signal<Position>>();

/** The position in a list, remembered while the console is open. Cursors are valid for one user only. */
export function positionIn(list: string): Signal<Position> {
  const key = `${session.value?.user} ${list}`;
  const known = positions.get(key);
  if (known) return known;
  const position = signal<Position>({ cursors: [] });
  positions.set(key, position);
  return position;
}
