import type { DeliveryState } from '../../../webhooks/port.ts';

/** Whether a webhook must be disabled to have deliveries in this state; undefined when it may be or not. */
export function disabledWith(state: DeliveryState): boolean | undefined {
  if (state === 'held') return true;
  return state === 'pending' ? false : undefined;
}

/** The ports name the webhook only, as `$1`: with its owner a statement over `d` looks into one partition. */
export const OF_WEBHOOK = 'd.subscriber = (SELECT owner FROM webhooks WHERE id = $1) AND d.webhook = $1';

/** With it a statement over `d` with one of these states, whichever, finds them by their index. */
export const IS_UNDELIVERED = `d.state <> 'delivered'`;

/**
 * When an event was made, in steps of 32 ms: its id without the last digit of the time and what is random. The indexes
 * of what is not delivered hold it instead of the id, so that deliveries which were made together share one entry: such
 * an index keeps the pages of what was in it until it is vacuumed. What is read in the order of events is read in this
 * order WITH TIES, and then sorted.
 */
export const momentOf = (event: string) => `left(${event}, 13)`;

/** Whether the webhook `$1` is disabled. */
export const IS_DISABLED = `(SELECT status = 'disabled' FROM webhooks WHERE id = $1)`;

/**
 * A limit that the planner does not know when it plans. It takes a tenth of the rows for granted then and walks the
 * index in order; by its own guess, which is far too low for columns that go together, it would read and sort them all.
 */
export function unplanned(limit: string | number): string {
  return `(SELECT ${limit}::int8)`;
}
