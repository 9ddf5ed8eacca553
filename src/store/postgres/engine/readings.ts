import type { SizeReading, WebhooksReading } from '../../../observability/port.ts';
import { addWebhooks, noWebhooks } from '../../rows.ts';
import { FIRST_DUE, momentOf } from '../deliveries/delivery-states.ts';
import { type Database, statement } from './database.ts';

/** Two lookups per webhook, like a search for work (`lanes.ts`). */
export const WEBHOOKS = statement`SELECT count(*) FILTER (WHERE w.status = 'enabled') AS enabled,
    count(*) FILTER (WHERE w.status = 'enabled' AND w.paused_until > $1) AS paused,
    count(*) FILTER (WHERE w.status = 'disabled') AS disabled,
    min(o.event) FILTER (WHERE w.status = 'enabled') AS oldest_pending,
    min(o.event) FILTER (WHERE w.status = 'disabled') AS oldest_held,
    min(d.due) FILTER (WHERE w.status = 'enabled' AND d.due <= $1 AND coalesce(w.paused_until, 0) <= $1) AS due_since
  FROM webhooks w
  LEFT JOIN LATERAL (
    SELECT min(event) AS event
    FROM (
      SELECT event
      FROM deliveries
      WHERE subscriber = w.owner AND webhook = w.id AND state = 'pending'
      ORDER BY ${momentOf('event')}
      FETCH FIRST ROW WITH TIES
    ) d
  ) o ON true
  LEFT JOIN LATERAL ${FIRST_DUE} d ON true
  WHERE w.status <> 'deleted'`;

const SIZE = statement`SELECT pg_database_size(current_database()) AS bytes`;

export function storeReads({ read }: Pick<Database, 'read'>) {
  return {
    async webhooks(now: number): Promise<WebhooksReading> {
      const [row] = await read(WEBHOOKS, [now]);
      return addWebhooks(noWebhooks, row ?? {});
    },
    async size(): Promise<SizeReading> {
      const [row] = await read(SIZE);
      return { bytes: Number(row?.bytes), freeBytes: undefined };
    },
  };
}
