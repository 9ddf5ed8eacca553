import type { DatabaseSync } from 'node:sqlite';
import { behind } from './event-ids.ts';

type Row = Record<string, unknown>;

/**
 * Walks the plants' events of several owners in the order of their ids. Each step reads from one owner as far as the
 * next event of any other, so it costs what is found, and one look for each owner.
 */
export function eventWalk(db: DatabaseSync) {
  const ofOwner = db.prepare(
    `SELECT owner, id, type, created_at, CAST(plant AS TEXT) AS plant, name, tag
     FROM events
     WHERE owner = ? AND id >= ? AND id <= ? AND type = 'plant.created'
     ORDER BY id
     LIMIT CAST(? AS INTEGER)`,
  );
  const first = db.prepare('SELECT min(id) AS id FROM events WHERE owner = ? AND id >= ? AND id <= ?');

  /** Rows that `toEvent` reads, with their owner, from one id to another, both included. */
  return (owners: readonly number[], from: string, through: string, limit: number): Row[] => {
    const [only] = owners;
    if (owners.length === 1 && only !== undefined) return ofOwner.all(only, from, through, limit);
    const next = (owner: number, start: string) => {
      const id = first.get(owner, start, through)?.id;
      return typeof id === 'string' ? [{ owner, id }] : [];
    };
    let heads = owners.flatMap((owner) => next(owner, from));
    const rows: Row[] = [];
    while (rows.length < limit) {
      const head = heads.reduce<(typeof heads)[number] | undefined>(earlier, undefined);
      if (!head) break;
      heads = heads.filter((other) => other !== head);
      const until = heads.reduce<(typeof heads)[number] | undefined>(earlier, undefined)?.id ?? through;
      rows.push(...ofOwner.all(head.owner, head.id, until, limit - rows.length));
      heads.push(...next(head.owner, behind(until)));
    }
    return rows;
  };
}

function earlier<Head extends { id: string }>(one: Head | undefined, other: Head): Head {
  return one !== undefined && one.id < other.id ? one : other;
}
