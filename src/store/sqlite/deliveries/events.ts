import type { DatabaseSync } from 'node:sqlite';
import type { EventPage, EventQuery } from '../../../webhooks/port.ts';
import { BEGINNING, behind, END, latest } from '../../event-ids.ts';
import { FEED_TYPES, toEvent } from '../../rows.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import type { Snapshot } from '../engine/snapshot.ts';

/**
 * The position after an event is its id, because events are committed in the order of their ids: the queue keeps the
 * order in which ids are assigned.
 */
export function eventReads(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const walk = eventWalk(db);
  const removed = db.prepare(`SELECT r.event
    FROM removed_events r
    LEFT JOIN shares s ON s.owner = r.owner AND s.viewer = ?
    WHERE r.owner = ? AND (s.removed IS NULL OR s.removed <> r.event)`);
  const newest = newestEvent(db);

  /** After the newest removed event: an older one that is still waiting is kept, but is not part of the feed. */
  const beginningFor = (viewer: number, owners: readonly number[]) =>
    latest(owners.map((owner) => removed.get(viewer, owner)?.event)) ?? BEGINNING;

  return {
    async events({ viewer, after, limit }: EventQuery): Promise<EventPage | undefined> {
      return snapshot.read(() => {
        const owners = visible.of(viewer);
        const beginning = beginningFor(viewer, owners);
        const from = after ?? beginning;
        if (from < beginning) return undefined;
        const rows = walk(owners, behind(from), END, limit);
        const events = rows.map((row) => ({ ...toEvent(row), position: String(row.id) }));
        return { events, next: events.at(-1)?.position ?? from };
      });
    },
    latestPosition: async (viewer: number): Promise<string> =>
      snapshot.read(() => {
        const owners = visible.of(viewer);
        return latest([newest(owners), beginningFor(viewer, owners)]) ?? BEGINNING;
      }),
  };
}

/** The newest event of some owners. */
export function newestEvent(db: DatabaseSync): (owners: readonly number[]) => string | undefined {
  const ofOwner = db.prepare('SELECT max(id) AS id FROM events WHERE owner = ?');
  return (owners) => latest(owners.map((owner) => ofOwner.get(owner)?.id));
}

type Row = Record<string, unknown>;

/** Walks plant events in id order. Each step reads from one owner up to the next event of any other. */
export function eventWalk(db: DatabaseSync) {
  const ofOwner = db.prepare(`SELECT owner, id, type, created_at, CAST(plant AS TEXT) AS plant, name, tag
    FROM events
    WHERE owner = ? AND id >= ? AND id <= ? AND type IN (${FEED_TYPES})
    ORDER BY id
    LIMIT CAST(? AS INTEGER)`);
  const first = db.prepare('SELECT min(id) AS id FROM events WHERE owner = ? AND id >= ? AND id <= ?');

  /** Rows for `toEvent`, with their owner, from one id to another, inclusive. */
  return (owners: readonly number[], from: string, through: string, limit: number): Row[] => {
    const [only] = owners;
    if (owners.length === 1 && only !== undefined) return ofOwner.all(only, from, through, limit);
    const next = (owner: number, start: string) => {
      const id = first.get(owner, start, through)?.id;
      return typeof id === 'string' ? [{ owner, id }] : [];
    };
    // The earliest is last, where removing and inserting cost least.
    const heads = owners
      .flatMap((owner) => next(owner, from))
      .sort((one, other) => (one.id < other.id ? 1 : -1));
    const rows: Row[] = [];
    while (rows.length < limit) {
      const head = heads.pop();
      if (!head) break;
      const until = heads.at(-1)?.id ?? through;
      rows.push(...ofOwner.all(head.owner, head.id, until, limit - rows.length));
      for (const following of next(head.owner, behind(until)))
        heads.splice(placeOf(following, heads), 0, following);
    }
    return rows;
  };
}

type Head = { owner: number; id: string };

/** The index of a head in the sorted heads, latest first. */
function placeOf({ id }: Head, heads: readonly Head[]): number {
  let low = 0;
  let high = heads.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((heads[middle]?.id ?? '') > id) low = middle + 1;
    else high = middle;
  }
  return low;
}
