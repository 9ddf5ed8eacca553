import { list as limits } from '../limits.ts';
import type { PlantStore } from './port.ts';

type Entry<List> = {
  viewer: number;
  query: string;
  stamp: string;
  list: List | Promise<List | undefined>;
  bytes: number;
};

/**
 * Lists in memory, each for as long as the store's stamp of its viewer stays the same, and from when its reading begins.
 * A list enters when it is requested again soon after, so those that are requested once cost nothing. The least recently
 * used leave first.
 * @param stamp `PlantStore.stamp`; without it, nothing is kept
 */
export function keptLists<List extends { json: unknown }>(
  stamp: PlantStore['stamp'],
  most: number = limits.keptBytes,
) {
  const kept = createRoom<List>(most);
  const requested = new Uint32Array(limits.rememberedLists);

  function wasRequested(hash: number): boolean {
    const place = hash % requested.length;
    const isAgain = requested[place] === hash;
    requested[place] = hash;
    return isAgain;
  }

  return {
    /** The list, if it is kept and has not changed. While it is read, a promise of it, or of undefined if it is not kept. */
    find(viewer: number, query: string): List | Promise<List | undefined> | undefined {
      const hash = hashOf(viewer, query);
      const found = kept.get(hash);
      if (found?.viewer !== viewer || found.query !== query || found.stamp !== stamp?.(viewer))
        return undefined;
      kept.use(hash, found);
      return found.list;
    },
    /** Reads a list. From its second request on, it is kept if it is held in memory as a whole. */
    async read<Read extends List>(viewer: number, query: string, read: () => Promise<Read>): Promise<Read> {
      const hash = hashOf(viewer, query);
      if (!stamp || !(kept.get(hash) || wasRequested(hash))) return read();
      const before = stamp(viewer, true);
      const reading = read();
      const whole = reading.then(ifWhole, () => undefined);
      const entry = { viewer, query, stamp: before, list: whole, bytes: bytesOf(query) };
      kept.add(hash, entry);
      const list = await whole;
      if (kept.get(hash) === entry) {
        if (list) kept.add(hash, { ...entry, list, bytes: bytesOf(query, String(list.json)) });
        else kept.remove(hash);
      }
      return reading;
    },
  };
}

/** Entries by hash, up to so many bytes: the least recently used leave. Of two with the same hash, the newer is kept. */
function createRoom<List>(most: number) {
  /** The first of a Map is the one that was added first. */
  const entries = new Map<number, Entry<List>>();
  let newest: number | undefined;
  let bytes = 0;

  function remove(hash: number): void {
    bytes -= entries.get(hash)?.bytes ?? 0;
    entries.delete(hash);
  }

  return {
    get: (hash: number) => entries.get(hash),
    use(hash: number, entry: Entry<List>): void {
      if (hash === newest) return;
      entries.delete(hash);
      entries.set(hash, entry);
      newest = hash;
    },
    add(hash: number, entry: Entry<List>): void {
      remove(hash);
      entries.set(hash, entry);
      newest = hash;
      bytes += entry.bytes;
      for (const oldest of entries.keys()) {
        if (bytes <= most) break;
        remove(oldest);
      }
    },
    remove,
  };
}

/** A long list is read while it is sent, and so by one request only. */
function ifWhole<List extends { json: unknown }>(list: List): List | undefined {
  return typeof list.json === 'string' ? list : undefined;
}

/** What an entry takes, roughly: V8 may take two bytes for a character. */
function bytesOf(query: string, json = ''): number {
  return 2 * (query.length + json.length) + ENTRY_BYTES;
}

/** FNV-1a. Keys of text and a CRC took 0.5 to 0.9 µs, which every list that is requested once would pay; this, 0.1. */
function hashOf(viewer: number, query: string): number {
  let hash = viewer;
  for (let at = 0; at < query.length; at++) hash = Math.imul(hash ^ query.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** Without its texts. */
const ENTRY_BYTES = 500;
