import type { WebhooksReading } from '../observability/port.ts';

/** The result of the statement of either store; PostgreSQL returns large numbers as text. */
export type WebhooksRow = {
  enabled: number | string;
  paused: number | string;
  disabled: number | string;
  oldest_pending: string | null;
  oldest_held: string | null;
  due_since: number | string | null;
};

export const noWebhooks: WebhooksReading = {
  enabled: 0,
  paused: 0,
  disabled: 0,
  oldestPending: undefined,
  oldestHeld: undefined,
  dueSince: undefined,
};

export function addWebhooks(reading: WebhooksReading, row: WebhooksRow): WebhooksReading {
  const dueSince = row.due_since === null ? undefined : Number(row.due_since);
  return {
    enabled: reading.enabled + Number(row.enabled),
    paused: reading.paused + Number(row.paused),
    disabled: reading.disabled + Number(row.disabled),
    oldestPending: first(reading.oldestPending, row.oldest_pending ?? undefined),
    oldestHeld: first(reading.oldestHeld, row.oldest_held ?? undefined),
    dueSince: first(reading.dueSince, dueSince),
  };
}

/** Event ids are ordered by time. */
function first<T extends string | number>(one: T | undefined, other: T | undefined): T | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one < other ? one : other;
}
