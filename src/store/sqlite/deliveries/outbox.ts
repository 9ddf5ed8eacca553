import type { DatabaseSync } from 'node:sqlite';
import type { PlantId } from '../../../plants/plant.ts';
import type { NewPlant } from '../../../plants/port.ts';
import type { Work } from '../../../webhooks/delivery/port.ts';
import type { NewTest } from '../../../webhooks/port.ts';
import { together } from '../../lane-threads.ts';

/** What others must learn from a transaction. */
export type Announced = {
  /** Deliveries that are or will be due. */
  work: Work[];
  /** The owners of new events. */
  owners: number[];
  /** Webhooks that were deleted, disabled, enabled, or got other settings. */
  changed: string[];
};

export type OutboxWrites = ReturnType<typeof outboxWrites>;

/** Writes events and their deliveries (the outbox) in the transaction that adds the plant. */
export function outboxWrites(db: DatabaseSync, delayMs: number) {
  const insertEvent = db.prepare(
    'INSERT INTO events (owner, id, plant, name, tag, created_at, type, trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const insertDelivery = db.prepare(`INSERT INTO deliveries
    (webhook, event, owner, state, attempts, step, due, generation, asked)
    VALUES (?, ?, ?, 'pending', 0, 0, ?, 0, ?)`);
  const subscriptions = subscriptionsIn(db);
  const owns = webhookOwners(db);
  const owners = new Set<number>();
  const changed = new Set<string>();
  const work = new Map<string, Work>();

  function hasWork(webhook: string, due: number, isAsked = false): void {
    work.set(webhook, together(work.get(webhook), { webhook, due, isAsked }));
  }

  return {
    announce({ owner, id, event, name, tag, at, trace }: NewPlant & { id: PlantId }): void {
      insertEvent.run(owner, event, id, name, tag ?? null, at, 'plant.created', trace ?? null);
      owners.add(owner);
      const due = at + delayMs;
      for (const webhook of subscriptions.of(owner)) {
        insertDelivery.run(webhook, event, owner, due, 0);
        hasWork(webhook, due);
      }
    },
    createTest({ owner, webhook, event, due, trace }: NewTest): boolean {
      if (!owns(owner, webhook)) return false;
      const { id, type, at, plant } = event;
      insertEvent.run(owner, id, plant.id, plant.name, plant.tag ?? null, at, type, trace ?? null);
      insertDelivery.run(webhook, id, owner, due, 1);
      hasWork(webhook, due, true);
      return true;
    },
    /** Existing deliveries have become due, or may be sent now. */
    hasWork,
    webhookChanged(webhook: string): void {
      changed.add(webhook);
    },
    /** Call it after a write to webhooks or shares, and at the start of a transaction. */
    forgetSubscriptions: subscriptions.forget,
    /** Returns what was written since the last call. */
    takeAnnounced(): Announced {
      const announced = { work: [...work.values()], owners: [...owners], changed: [...changed] };
      work.clear();
      owners.clear();
      changed.clear();
      return announced;
    },
  };
}

/** The webhooks that receive an owner's events, looked up once per transaction. */
function subscriptionsIn(db: DatabaseSync) {
  const subscribed = db.prepare(`SELECT id
    FROM webhooks
    WHERE owner = ?1 AND status <> 'deleted'
    UNION ALL
    SELECT w.id
    FROM shares s
    JOIN webhooks w ON w.owner = s.viewer
    WHERE s.owner = ?1 AND w.status <> 'deleted'`);
  const known = new Map<number, readonly string[]>();
  const find = (owner: number) => subscribed.all(owner).map(({ id }) => String(id));
  return {
    of: (owner: number) => known.getOrInsertComputed(owner, find),
    forget: () => known.clear(),
  };
}

/** Whether the owner has the webhook; false while it is being removed. */
export function webhookOwners(db: DatabaseSync): (owner: number, webhook: string) => boolean {
  const query = db.prepare(`SELECT 1 FROM webhooks WHERE owner = ? AND id = ? AND status <> 'deleted'`);
  return (owner, webhook) => query.get(owner, webhook) !== undefined;
}
