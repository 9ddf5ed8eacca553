import type { DeliveryState } from '../../../webhooks/port.ts';

/** Whether a webhook with deliveries in this state must be disabled; undefined if it may be either. */
export function disabledWith(state: DeliveryState): boolean | undefined {
  if (state === 'held') return true;
  return state === 'pending' ? false : undefined;
}

/** The ports pass only the webhook, as `$1`: adding its owner restricts a statement over `d` to one partition. */
export const OF_WEBHOOK = 'd.subscriber = (SELECT owner FROM webhooks WHERE id = $1) AND d.webhook = $1';

/** Lets a statement over `d` with any one of these states use their index. */
export const IS_UNDELIVERED = `d.state <> 'delivered'`;

/**
 * When an event was created, in steps of 32 ms: its id without the last digit of the time and the random part. The
 * indexes of undelivered deliveries hold this, so that deliveries created together share an entry: removed entries take
 * space until a vacuum. Queries in event order read WITH TIES, then sort.
 */
export const momentOf = (event: string) => `left(${event}, 13)`;

/** When the first delivery of the webhook `w` is due. */
export const FIRST_DUE = `(
    SELECT due
    FROM deliveries
    WHERE subscriber = w.owner AND webhook = w.id AND state = 'pending'
    ORDER BY due
    LIMIT 1
  )`;

/**
 * A limit unknown to the planner, which then walks the index in order. With a known one it would read and sort all
 * rows, because it underestimates correlated columns.
 */
export function unplanned(limit: string | number): string {
  return `(SELECT ${limit}::int8)`;
}
