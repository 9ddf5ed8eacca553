import type { DatabaseSync } from 'node:sqlite';
import type { EventPage, EventQuery, PlantEvent } from '../../webhooks/port.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * The queries that read events. Here the position behind an event is its id: ids of events are made in the order in
 * which they are committed, since they are made where they are queued and the queue keeps its order.
 */
export function eventReads(db: DatabaseSync, snapshot: Snapshot) {
  const eventsBehind = db.prepare(
    `SELECT id, type, created_at, CAST(plant AS TEXT) AS plant, name, tag
     FROM events
     WHERE owner = ? AND id > ? AND type = 'plant.created'
     ORDER BY id
     LIMIT CAST(? AS INTEGER)`,
  );
  const removed = db.prepare('SELECT event FROM removed_events WHERE owner = ?');
  const newest = db.prepare('SELECT max(id) AS id FROM events WHERE owner = ?');

  /** Behind the newest event that was removed: an older one that still waits is kept, but not part of the feed. */
  const beginningFor = (viewer: number) => String(removed.get(viewer)?.event ?? BEGINNING);

  return {
    events({ viewer, after, limit }: EventQuery): EventPage | undefined {
      return snapshot.read(() => {
        const beginning = beginningFor(viewer);
        const from = after ?? beginning;
        if (from < beginning) return undefined;
        const rows = eventsBehind.all(viewer, from, limit);
        const events = rows.map((row) => ({ ...toEvent(row), position: String(row.id) }));
        return { events, next: events.at(-1)?.position ?? from };
      });
    },
    latestPosition: (viewer: number): string =>
      snapshot.read(() => {
        const beginning = beginningFor(viewer);
        const latest = newest.get(viewer)?.id;
        return typeof latest === 'string' && latest > beginning ? latest : beginning;
      }),
  };
}

/** Before every id of an event. */
const BEGINNING = 'evt_';

/** A row with id, type, created_at, plant (as text: as a number it would lose digits), name and tag. */
export function toEvent(row: Record<string, unknown>): PlantEvent {
  return {
    id: String(row.id),
    type: row.type === 'plant.test' ? 'plant.test' : 'plant.created',
    at: Number(row.created_at),
    plant: {
      id: BigInt(String(row.plant)),
      name: String(row.name),
      tag: row.tag === null ? undefined : String(row.tag),
    },
  };
}

/** The first text behind an id: for a walk that goes on from a text, that included. */
export function behind(id: string): string {
  return `${id}0`;
}
