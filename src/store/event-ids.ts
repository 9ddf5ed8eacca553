import { setImmediate } from 'node:timers/promises';
import { feeds as limits } from '../limits.ts';
import type { DeliveryPosition } from '../webhooks/port.ts';

/** Event ids as bounds for walking a key. */

/** Sorts before every event id. */
export const BEGINNING = 'evt_';
/** Sorts after every event id. */
export const END = '~';
/** The position before the first delivery of a list, which is the newest. */
export const FIRST: DeliveryPosition = { event: END, webhook: '' };

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

type Row = Readonly<Record<string, unknown>>;
type ReadPart = (from: string) => Row | undefined | Promise<Row | undefined>;

/**
 * Reads the key of each range in parts. A turn of the event loop ends once `most` rows were seen in it.
 * @param ranges each, from an id on, returns how many rows it has `seen`, `most` unless there are fewer, and the `last`
 */
export async function* parts(
  ranges: readonly ReadPart[],
  first: string,
  most: number = limits.counted,
): AsyncGenerator<Row, void> {
  let seenInTurn = 0;
  for (const read of ranges) {
    for (let from: string | undefined = first; from !== undefined; ) {
      const part: Row = (await read(from)) ?? {};
      yield part;
      const seen = Number(part.seen ?? 0);
      from = seen >= most ? behind(String(part.last)) : undefined;
      seenInTurn += seen;
      if (seenInTurn < most) continue;
      seenInTurn = 0;
      await setImmediate();
    }
  }
}

/** @param ranges return how many rows of the part count as `count`, too */
export async function countIn(ranges: readonly ReadPart[], first: string): Promise<number> {
  let total = 0;
  for await (const { count } of parts(ranges, first)) total += Number(count);
  return total;
}
