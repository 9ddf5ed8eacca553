/** SQL for the order of the feed. Not database functions: each call of one costs more than a plant. */

const OFFSET = `(SELECT value FROM meta WHERE name = 'tx_offset')`;

/** The number of this transaction, as stored with events. */
export const FEED_TX = `(SELECT pg_current_xact_id()::text::bigint + ${OFFSET})`;

/** Every transaction below this is over: their events are the feed, and none is added between them. */
export const FEED_END = `(SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + ${OFFSET})`;
