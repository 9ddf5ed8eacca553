import type { DatabaseSync } from 'node:sqlite';
import { prepare } from '../engine/prepare.ts';

/** Counts an owner's plants up to the limit, once; then keeps the count, since only this connection adds plants. */
export function plantCounts(db: DatabaseSync, most: number) {
  const count = prepare(db)`SELECT count(*) AS count
    FROM (SELECT 1 FROM plants WHERE owner = ? LIMIT CAST(? AS INTEGER))`;
  const known = new Map<number, number>();
  return {
    isFull(owner: number): boolean {
      const counted = known.get(owner) ?? Number(count.get(owner, most + 1)?.count);
      known.set(owner, counted);
      return counted >= most;
    },
    added(owner: number): void {
      const counted = known.get(owner);
      if (counted !== undefined) known.set(owner, counted + 1);
    },
    removed(owner: number): void {
      const counted = known.get(owner);
      if (counted === undefined) return;
      // Beyond the limit the exact count is unknown.
      if (counted > most) known.delete(owner);
      else known.set(owner, counted - 1);
    },
    forget: () => known.clear(),
  };
}
