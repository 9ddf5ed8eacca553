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
  /** By hash. Of two lists with the same one, only the newer is kept. */
  const kept = new Map<number, { viewer: number; query: string; stamp: string; list: List; bytes: number }>();
  const requested = new Uint32Array(limits.rememberedLists);
  let newest: number | undefined;
  let bytes = 0;

  function wasRequested(hash: number): boolean {
    const place = hash % requested.length;
    const isAgain = requested[place] === hash;
    requested[place] = hash;
    return isAgain;
  }

  function remove(hash: number): void {
    bytes -= kept.get(hash)?.bytes ?? 0;
    kept.delete(hash);
  }

  return {
    find(viewer, query) {
      const hash = hashOf(viewer, query);
      const found = kept.get(hash);
      if (found?.viewer !== viewer || found.query !== query || found.stamp !== stamp?.(viewer))
        return undefined;
      if (hash !== newest) {
        // The first of a Map is the one that was added first.
        kept.delete(hash);
        kept.set(hash, found);
        newest = hash;
      }
      return found.list;
    },
    keeper(viewer, query) {
      const hash = hashOf(viewer, query);
      if (!stamp || !(kept.has(hash) || wasRequested(hash))) return undefined;
      const before = stamp(viewer, true);
      if (before === undefined) return undefined;
      return (list, text) => {
        remove(hash);
        // V8 may take two bytes for a character.
        const added = 2 * (query.length + text.length) + ENTRY_BYTES;
        kept.set(hash, { viewer, query, stamp: before, list, bytes: added });
        newest = hash;
        bytes += added;
        for (const oldest of kept.keys()) {
          if (bytes <= most) break;
          remove(oldest);
        }
      };
    },
  };
}

/** FNV-1a. Keys of text and a CRC took 0.5 to 0.9 µs, which every list that is requested once would pay; this, 0.1. */
function hashOf(viewer: number, query: string): number {
  let hash = viewer;
  for (let at = 0; at < query.length; at++) hash = Math.imul(hash ^ query.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** What an entry takes besides its texts, roughly. */
const ENTRY_BYTES = 500;
