/** Ids of events as texts that a key is walked by. */

/** Before every id of an event. */
export const BEGINNING = 'evt_';
/** Behind every id. */
export const END = '~';

/** The first text behind an id: for a walk that goes on from a text, that included. */
export function behind(id: string): string {
  return `${id}0`;
}

/** The greatest id; what is no text counts as none. */
export function latest(ids: readonly unknown[]): string | undefined {
  return ids.reduce<string | undefined>(
    (last, id) => (typeof id === 'string' && (last === undefined || id > last) ? id : last),
    undefined,
  );
}
