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

/** Walks plant events in id order. */
export function eventWalk(db: DatabaseSync) {
  const ofOwner = db.prepare(`SELECT owner, id, type, created_at, CAST(plant AS TEXT) AS plant, name, tag
    FROM events
    WHERE owner = ? AND id >= ? AND id <= ? AND type IN (${FEED_TYPES})
    ORDER BY id
    LIMIT CAST(? AS INTEGER)`);

  /** Rows for `toEvent`, with their owner, from one id to another, inclusive. */
  return (owners: readonly number[], from: string, through: string, limit: number): Row[] => {
    const read = (owner: number, most: number, last?: Row, end?: Row) =>
      ofOwner.all(owner, last ? behind(String(last.id)) : from, end ? String(end.id) : through, most);
    return firstOf(owners, limit, read, (one, other) => (String(one.id) < String(other.id) ? -1 : 1));
  };
}

/**
 * The first rows of several sources in the order that all of them have. Reads a share of the limit from each and then,
 * in larger shares, from those whose last row is among the first of all.
 * @param read the first rows of a source, or those after its last one; those after `through` are not needed
 * @param compare no two rows are equal
 */
export function firstOf<Source, Row>(
  sources: readonly Source[],
  limit: number,
  read: (source: Source, most: number, last: Row | undefined, through: Row | undefined) => Row[],
  compare: (one: Row, other: Row) => number,
): Row[] {
  let found: { source: Source; row: Row; endOf: number | undefined }[] = [];
  let through: Row | undefined;
  const prune = () => {
    found = found.sort((one, other) => compare(one.row, other.row)).slice(0, limit);
    through = found[limit - 1]?.row;
  };
  let ends: { source: Source; row?: Row }[] = sources.map((source) => ({ source }));
  for (let share = Math.ceil(limit / sources.length); ends.length > 0; share *= 2) {
    for (const { source, row: last } of ends) {
      if (found.length >= 2 * limit) prune();
      const rows = read(source, share, last, through);
      found.push(...rows.map((row, i) => ({ source, row, endOf: i === share - 1 ? share : undefined })));
    }
    prune();
    ends = found.slice(0, limit - 1).filter(({ endOf }) => endOf === share);
  }
  return found.map(({ row }) => row);
}
