import { stat, statfs } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import { observability as limits } from '../../../limits.ts';
import type { SizeReading, WebhooksReading } from '../../../observability/port.ts';
import { parts } from '../../event-ids.ts';
import { addWebhooks, noWebhooks } from '../../rows.ts';
import type { Snapshot } from './snapshot.ts';

export function storeReads(db: DatabaseSync, snapshot: Snapshot) {
  const part = db.prepare(`SELECT count(*) FILTER (WHERE status = 'enabled') AS enabled,
      count(*) FILTER (WHERE status = 'enabled' AND paused_until > ?1) AS paused,
      count(*) FILTER (WHERE status = 'disabled') AS disabled,
      min(oldest) FILTER (WHERE status = 'enabled') AS oldest_pending,
      min(oldest) FILTER (WHERE status = 'disabled') AS oldest_held,
      min(due) FILTER (WHERE status = 'enabled' AND due <= ?1 AND coalesce(paused_until, 0) <= ?1) AS due_since,
      count(*) AS seen, max(id) AS last
    FROM (
      SELECT w.id, w.status, w.paused_until,
        (
          SELECT d.event
          FROM deliveries d INDEXED BY deliveries_by_state
          WHERE d.webhook = w.id AND d.state = 'pending'
          ORDER BY d.event
          LIMIT 1
        ) AS oldest,
        (
          SELECT d.due
          FROM deliveries d INDEXED BY deliveries_due
          WHERE d.webhook = w.id AND d.state = 'pending'
          ORDER BY d.due
          LIMIT 1
        ) AS due
      FROM webhooks w
      WHERE w.id >= ?2
      ORDER BY w.id
      LIMIT ${limits.webhooksRead}
    )`);

  return {
    async webhooks(now: number): Promise<WebhooksReading> {
      const read = (from: string) => snapshot.read(() => part.get(now, from));
      let reading = noWebhooks;
      for await (const row of parts([read], '', limits.webhooksRead)) reading = addWebhooks(reading, row);
      return reading;
    },
  };
}

/** A store in memory has no file. */
export async function sizeOf(path: string): Promise<SizeReading> {
  if (path === ':memory:') return { bytes: 0, freeBytes: undefined };
  const [file, log, system] = await Promise.all([
    stat(path),
    // The write-ahead log exists from the first commit until the store is closed.
    stat(`${path}-wal`).catch(() => undefined),
    statfs(path),
  ]);
  return { bytes: file.size + (log?.size ?? 0), freeBytes: system.bavail * system.bsize };
}
