import type { DatabaseSync } from 'node:sqlite';
import type { EventPage, EventQuery } from '../../../webhooks/port.ts';
import { BEGINNING, behind, END, latest } from '../../event-ids.ts';
import { toEvent } from '../../rows.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import { prepare } from '../engine/prepare.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { eventWalk } from './event-walk.ts';

/**
 * The position after an event is its id, because events are committed in the order of their ids: the queue keeps the
 * order in which ids are assigned.
 */
export function eventReads(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const walk = eventWalk(db);
  const removed = prepare(db)`SELECT r.event
    FROM removed_events r
    LEFT JOIN shares s ON s.owner = r.owner AND s.viewer = ?
    WHERE r.owner = ? AND (s.removed IS NULL OR s.removed <> r.event)`;
  const newest = db.prepare('SELECT max(id) AS id FROM events WHERE owner = ?');

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
        const last = latest(owners.map((owner) => newest.get(owner)?.id));
        return latest([last, beginningFor(viewer, owners)]) ?? BEGINNING;
      }),
  };
}
