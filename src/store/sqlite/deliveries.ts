import type { DatabaseSync } from 'node:sqlite';
import type { PlantId } from '../../plants/plant.ts';
import type { NewPlant } from '../../plants/port.ts';
import type { Claim, ClaimRequest, DeliveryOutcome } from '../../webhooks/port.ts';
import type { Snapshot } from './snapshot.ts';

/** Writes a plant's event and its deliveries: the outbox, in the transaction that adds the plant. */
export function outbox(db: DatabaseSync, delayMs: number) {
  const insertEvent = db.prepare(
    'INSERT INTO events (owner, id, plant, name, tag, created_at) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const insertDelivery = db.prepare(
    `INSERT INTO deliveries (webhook, event, owner, state, attempts, due, leased, fence)
     VALUES (?, ?, ?, 'pending', 0, ?, 0, 0)`,
  );
  const subscribed = db.prepare(`SELECT id FROM webhooks WHERE owner = ? AND status = 'enabled'`);
  const webhooksOf = new Map<number, string[]>();
  let announced = 0;

  function webhooks(owner: number): string[] {
    const known = webhooksOf.get(owner);
    if (known) return known;
    const found = subscribed.all(owner).map((row) => String(row.id));
    webhooksOf.set(owner, found);
    return found;
  }

  return {
    announce({ owner, id, event, name, tag, at }: NewPlant & { id: PlantId }): void {
      insertEvent.run(owner, event, id, name, tag ?? null, at);
      for (const webhook of webhooks(owner)) {
        insertDelivery.run(webhook, event, owner, at + delayMs);
        announced++;
      }
    },
    /** Who is subscribed is looked up once for each transaction; a write to webhooks makes it stale. */
    forgetSubscriptions: () => webhooksOf.clear(),
    /** Deliveries written since the last call. */
    takeAnnounced(): number {
      const count = announced;
      announced = 0;
      return count;
    },
  };
}

/** The statements that move deliveries on, for the connection that writes. */
export function deliveryWrites(db: DatabaseSync) {
  const due = db.prepare(
    `SELECT event, due
     FROM deliveries
     WHERE webhook = ? AND state = 'pending' AND due <= ?
     ORDER BY due
     LIMIT CAST(? AS INTEGER)`,
  );
  const lease = db.prepare(
    `UPDATE deliveries
     SET due = ?, leased = 1, fence = fence + 1
     WHERE webhook = ? AND event = ?`,
  );
  const record = db.prepare(
    `UPDATE deliveries
     SET state = ?, attempts = ?, due = coalesce(?, due), leased = 0, reason = ?
     WHERE webhook = ? AND event = ? AND fence = ? AND state = 'pending'`,
  );
  const release = db.prepare('UPDATE deliveries SET leased = 0, due = ? WHERE leased = 1');
  const webhooksWithPending = pendingWebhooks(db);
  const read = claimedDelivery(db);

  return {
    claim({ now, leaseUntil, perWebhook, busy, limit }: ClaimRequest): Claim[] {
      const lanes = webhooksWithPending().map((webhook) => {
        const free = Math.max(0, perWebhook - (busy.get(webhook) ?? 0));
        return due
          .all(webhook, now, free)
          .map((row) => ({ webhook, event: String(row.event), due: Number(row.due) }));
      });
      // Whoever has waited for longest is dealt to first, so that nobody is left out when few are dealt.
      lanes.sort(([a], [b]) => (a?.due ?? 0) - (b?.due ?? 0));
      return dealOut(lanes, limit).map(({ webhook, event }) => {
        lease.run(leaseUntil, webhook, event);
        return read(webhook, event);
      });
    },
    record(outcome: DeliveryOutcome): boolean {
      const { state, attempts, reason, webhook, event, fence } = outcome;
      const next = state === 'pending' ? outcome.due : null;
      return record.run(state, attempts, next, reason ?? null, webhook, event, fence).changes > 0;
    },
    releaseLeases(now: number): void {
      release.run(now);
    },
  };
}

/** Jumps from webhook to webhook in the index of what is due, however many deliveries wait for each. */
function pendingWebhooks(db: DatabaseSync): () => string[] {
  const next = db.prepare(
    `SELECT webhook
     FROM deliveries INDEXED BY deliveries_due
     WHERE state = 'pending' AND webhook > ?
     ORDER BY webhook
     LIMIT 1`,
  );
  return () => {
    const webhooks: string[] = [];
    let row = next.get('');
    while (row) {
      const webhook = String(row.webhook);
      webhooks.push(webhook);
      row = next.get(webhook);
    }
    return webhooks;
  };
}

/** Takes one of each lane in turn until `limit` are taken: a long lane leaves room for the short ones. */
function dealOut<T>(lanes: T[][], limit: number): T[] {
  const dealt: T[] = [];
  const longest = lanes.reduce((most, lane) => Math.max(most, lane.length), 0);
  for (let turn = 0; turn < longest; turn++) {
    for (const lane of lanes) {
      if (dealt.length === limit) return dealt;
      const item = lane[turn];
      if (item !== undefined) dealt.push(item);
    }
  }
  return dealt;
}

function claimedDelivery(db: DatabaseSync): (webhook: string, event: string) => Claim {
  const delivery = db.prepare(
    `SELECT d.attempts, d.fence, e.created_at, e.plant, e.name, e.tag, w.url, w.private_key
     FROM deliveries d
     JOIN events e ON e.owner = d.owner AND e.id = d.event
     JOIN webhooks w ON w.id = d.webhook
     WHERE d.webhook = ? AND d.event = ?`,
  );
  delivery.setReadBigInts(true);
  const secrets = db.prepare(
    `SELECT secret
     FROM webhook_secrets
     WHERE webhook = ?
     ORDER BY created_at DESC`,
  );
  return (webhook, event) => {
    const row = delivery.get(webhook, event);
    if (!row) throw new Error(`Delivery ${event} of ${webhook} has no event`);
    return {
      webhook: {
        id: webhook,
        url: String(row.url),
        secrets: secrets.all(webhook).map(({ secret }) => String(secret)),
        privateKey: String(row.private_key),
      },
      event: {
        id: event,
        at: Number(row.created_at),
        plant: {
          id: BigInt(row.plant as bigint),
          name: String(row.name),
          tag: row.tag === null ? undefined : String(row.tag),
        },
      },
      attempts: Number(row.attempts),
      fence: Number(row.fence),
    };
  };
}

/** The queries that read deliveries. */
export function deliveryReads(db: DatabaseSync, snapshot: Snapshot) {
  const earliest = db.prepare(
    `SELECT due
     FROM deliveries
     WHERE webhook = ? AND state = 'pending'
     ORDER BY due
     LIMIT 1`,
  );
  const webhooksWithPending = pendingWebhooks(db);
  return {
    nextDue: (): number | undefined =>
      snapshot.read(() => {
        const times = webhooksWithPending().map((webhook) => Number(earliest.get(webhook)?.due));
        return times.length > 0 ? times.reduce((first, time) => Math.min(first, time)) : undefined;
      }),
  };
}
