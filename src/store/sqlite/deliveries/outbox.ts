import type { DatabaseSync } from 'node:sqlite';
import type { PlantId } from '../../../plants/plant.ts';
import type { NewPlant } from '../../../plants/port.ts';
import type { Work } from '../../../webhooks/delivery/port.ts';
import type { NewTest } from '../../../webhooks/port.ts';
import { webhookOwners } from './webhook-owners.ts';

/** What a transaction wrote for others to look at. */
export type Announced = {
  /** What webhooks have to send, or will have. */
  work: Work[];
  /** Whose events were written. */
  owners: number[];
  /** Webhooks that were deleted, or are sent to otherwise, or not, or again. */
  changed: string[];
};

export type OutboxWrites = ReturnType<typeof outboxWrites>;

/** Writes events and their deliveries: the outbox, in the transaction that adds the plant. */
export function outboxWrites(db: DatabaseSync, delayMs: number) {
  const insertEvent = db.prepare(
    'INSERT INTO events (owner, id, plant, name, tag, created_at, type, trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const insertDelivery = db.prepare(
    `INSERT INTO deliveries (webhook, event, owner, state, attempts, step, due, generation, asked)
     VALUES (?, ?, ?, 'pending', 0, 0, ?, 0, ?)`,
  );
  const subscribed = db.prepare(
    `SELECT id
     FROM webhooks
     WHERE owner = ?1 AND status <> 'deleted'
     UNION ALL
     SELECT w.id
     FROM shares s
     JOIN webhooks w ON w.owner = s.viewer
     WHERE s.owner = ?1 AND w.status <> 'deleted'`,
  );
  const owns = webhookOwners(db);
  const webhooksOf = new Map<number, string[]>();
  const owners = new Set<number>();
  const changed = new Set<string>();
  const work = new Map<string, Work>();

  function webhooks(owner: number): string[] {
    const known = webhooksOf.get(owner);
    if (known) return known;
    const found = subscribed.all(owner).map((row) => String(row.id));
    webhooksOf.set(owner, found);
    return found;
  }

  function hasWork(webhook: string, due: number, isAsked = false): void {
    const known = work.get(webhook);
    if (!known) work.set(webhook, { webhook, due, isAsked });
    else Object.assign(known, { due: Math.min(due, known.due ?? due), isAsked: isAsked || known.isAsked });
  }

  return {
    announce({ owner, id, event, name, tag, at, trace }: NewPlant & { id: PlantId }): void {
      insertEvent.run(owner, event, id, name, tag ?? null, at, 'plant.created', trace ?? null);
      owners.add(owner);
      const due = at + delayMs;
      for (const webhook of webhooks(owner)) {
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
    /** Deliveries that were there are due, or may be sent now. */
    hasWork,
    webhookChanged(webhook: string): void {
      changed.add(webhook);
    },
    /** Who is subscribed is looked up once for each transaction; a write to webhooks or shares makes it stale. */
    forgetSubscriptions: () => webhooksOf.clear(),
    /** What was written since the last call. */
    takeAnnounced(): Announced {
      const announced = { work: [...work.values()], owners: [...owners], changed: [...changed] };
      work.clear();
      owners.clear();
      changed.clear();
      return announced;
    },
  };
}
