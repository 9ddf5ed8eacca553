import { crc32 } from 'node:zlib';
import { list as limits } from '../limits.ts';
import type { PlantStore } from './port.ts';

/**
 * Lists that were answered, kept in memory for as long as the store's stamp of their viewer stays the same. A list
 * enters when it is requested again soon after, so those that are requested once cost nothing. The least recently used
 * leave first.
 */
export type KeptLists<List> = {
  /** The list, if it is kept and has not changed. */
  find(viewer: number, query: string): List | undefined;
  /** Call it before reading the list, and its result with what was read; undefined when the list does not enter. */
  keeper(viewer: number, query: string): ((list: List, text: string) => void) | undefined;
};

/** @param stamp `PlantStore.stamp`; without it, nothing is kept */
export function keptLists<List>(
  stamp: PlantStore['stamp'],
  most: number = limits.keptBytes,
): KeptLists<List> {
  const kept = new Map<string, { stamp: string; list: List; bytes: number }>();
  const requested = new Uint32Array(limits.rememberedLists);
  let bytes = 0;

  function wasRequested(key: string): boolean {
    const hash = crc32(key);
    const place = hash % requested.length;
    const isAgain = requested[place] === hash;
    requested[place] = hash;
    return isAgain;
  }

  function remove(key: string): void {
    bytes -= kept.get(key)?.bytes ?? 0;
    kept.delete(key);
  }

  return {
    find(viewer, query) {
      const key = `${viewer} ${query}`;
      const found = kept.get(key);
      if (!found || found.stamp !== stamp?.(viewer)) return undefined;
      // The first of a Map is the one that was added first.
      kept.delete(key);
      kept.set(key, found);
      return found.list;
    },
    keeper(viewer, query) {
      const key = `${viewer} ${query}`;
      if (!stamp || !(kept.has(key) || wasRequested(key))) return undefined;
      const before = stamp(viewer, true);
      if (before === undefined) return undefined;
      return (list, text) => {
        remove(key);
        // V8 may take two bytes for a character.
        const added = 2 * (key.length + text.length) + ENTRY_BYTES;
        kept.set(key, { stamp: before, list, bytes: added });
        bytes += added;
        for (const oldest of kept.keys()) {
          if (bytes <= most) break;
          remove(oldest);
        }
      };
    },
  };
}

/** What an entry takes besides its texts, roughly. */
const ENTRY_BYTES = 500;
