/** Event ids as bounds for walking a key. */

/** Sorts before every event id. */
export const BEGINNING = 'evt_';
/** Sorts after every event id. */
export const END = '~';

/** The first text after an id, for a walk that includes its start. */
export function behind(id: string): string {
  return `${id}0`;
}

/** The greatest id; ignores values that are not text. */
export function latest(ids: readonly unknown[]): string | undefined {
  return ids.reduce<string | undefined>(
    (last, id) => (typeof id === 'string' && (last === undefined || id > last) ? id : last),
    undefined,
  );
}
