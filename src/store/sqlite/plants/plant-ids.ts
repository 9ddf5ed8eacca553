import type { DatabaseSync } from 'node:sqlite';
import { LAST_ASSIGNED_ID, type PlantId } from '../../../plants/plant.ts';

/** Within this distance above the counter every free id is found; beyond, the search continues in strides. */
const NEAR = 128n;

export const BIGINTS = { readBigInts: true };

/** The ids that the store assigns: a counter for each owner, read and written once per transaction. */
export function assignedIds(db: DatabaseSync) {
  const read = db.prepare('SELECT last FROM assigned_ids WHERE owner = ?', BIGINTS);
  const write = db.prepare(`INSERT INTO assigned_ids (owner, last)
    VALUES (?, ?)
    ON CONFLICT DO UPDATE SET last = excluded.last`);
  const freeAbove = freeIds(db);
  const known = new Map<number, PlantId>();
  const moved = new Set<number>();

  return {
    /**
     * Advances the owner's counter to a new id; undefined when none is left.
     * @param taken the id it returned before, if a plant already has it
     */
    next(owner: number, taken?: PlantId): PlantId | undefined {
      const last = known.get(owner) ?? bigintOf(read.get(owner)?.last) ?? 0n;
      const id = taken === undefined ? last + 1n : freeAbove(owner, taken);
      const isSpent = id > LAST_ASSIGNED_ID;
      known.set(owner, isSpent ? LAST_ASSIGNED_ID : id);
      moved.add(owner);
      return isSpent ? undefined : id;
    },
    /** Call it at the start of a transaction: a rolled-back one took its ids with it. */
    forget(): void {
      known.clear();
      moved.clear();
    },
    /** Call it at the end of a transaction. */
    write(): void {
      for (const owner of moved) write.run(owner, known.get(owner) ?? 0n);
    },
  };
}

/**
 * Finds a free id at a cost independent of the number of taken ids. Strides double in length and end at random, so only
 * a client that takes half of all ids up to there can block most of them.
 */
function freeIds(db: DatabaseSync): (owner: number, taken: PlantId) => PlantId {
  const firstGap = db.prepare(
    `SELECT id + 1 AS id
     FROM plants p
     WHERE owner = ? AND id BETWEEN ? AND ?
       AND NOT EXISTS (SELECT 1 FROM plants WHERE owner = p.owner AND id = p.id + 1)
     ORDER BY p.id
     LIMIT 1`,
    BIGINTS,
  );
  const highest = db.prepare('SELECT max(id) AS id FROM plants WHERE owner = ? AND id <= ?', BIGINTS);

  return (owner, taken) => {
    const near = bigintOf(firstGap.get(owner, taken, taken + NEAR)?.id);
    if (near !== undefined) return near;
    for (let stride = NEAR; ; stride *= 2n) {
      const end = taken + stride + BigInt(Math.floor(Math.random() * Number(stride)));
      // Near the last id: more than half of all ids up to here are taken.
      if (end > LAST_ASSIGNED_ID) return end;
      const below = bigintOf(highest.get(owner, end)?.id) ?? taken;
      if (below < end) return below + 1n;
    }
  };
}

function bigintOf(value: unknown): bigint | undefined {
  return typeof value === 'bigint' ? value : undefined;
}
