import type { DatabaseSync } from 'node:sqlite';
import { MAX_ID, type PlantId } from '../../plants/plant.ts';

/** Finds the next free id of an owner, and remembers the highest one while a transaction lasts. */
export function freeIds(db: DatabaseSync) {
  const highest = db.prepare('SELECT max(id) AS id FROM plants WHERE owner = ?');
  highest.setReadBigInts(true);
  const highestGap = db.prepare(
    `SELECT id - 1 AS id
     FROM plants p
     WHERE owner = ? AND id <= ?
       AND NOT EXISTS (SELECT 1 FROM plants WHERE owner = p.owner AND id = p.id - 1)
     ORDER BY p.id DESC
     LIMIT 1`,
  );
  highestGap.setReadBigInts(true);

  const known = new Map<number, PlantId>();
  /** Above these every id is taken, for owners who have the largest one: where the search goes on. */
  const gaps = new Map<number, PlantId>();

  function highestFree(owner: number): PlantId {
    const id = bigintOf(highestGap.get(owner, gaps.get(owner) ?? MAX_ID)?.id) ?? MAX_ID;
    gaps.set(owner, id);
    return id;
  }

  return {
    nextFree(owner: number): PlantId {
      const last = known.get(owner) ?? bigintOf(highest.get(owner)?.id) ?? 0n;
      known.set(owner, last);
      if (last < 1n) return 1n;
      if (last < MAX_ID) return last + 1n;
      return highestFree(owner);
    },
    /** A plant was added. */
    note(owner: number, id: PlantId): void {
      const last = known.get(owner);
      if (last !== undefined && id > last) known.set(owner, id);
    },
    removed(owner: number): void {
      known.delete(owner);
      gaps.delete(owner);
    },
    /** A transaction that was rolled back took its ids with it. */
    forget(): void {
      known.clear();
    },
  };
}

export function bigintOf(value: unknown): bigint | undefined {
  return typeof value === 'bigint' ? value : undefined;
}
