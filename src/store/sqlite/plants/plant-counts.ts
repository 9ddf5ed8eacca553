import type { DatabaseSync } from 'node:sqlite';

/**
 * How many plants an owner has, when there is a limit: counted once, then kept up, since this connection alone adds
 * plants. Counting ends beyond the limit, however many there are.
 */
export function plantCounts(db: DatabaseSync, most: number) {
  const count = db.prepare(
    `SELECT count(*) AS count
     FROM (SELECT 1 FROM plants WHERE owner = ? LIMIT CAST(? AS INTEGER))`,
  );
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
      // Beyond the limit nobody knows how many there are.
      if (counted > most) known.delete(owner);
      else known.set(owner, counted - 1);
    },
    forget: () => known.clear(),
  };
}
