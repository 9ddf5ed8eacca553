/**
 * The order of the feed, as SQL. Not functions of the database: each call of one costs more than a plant does.
 */

const OFFSET = `(SELECT value FROM meta WHERE name = 'tx_offset')`;

/** The number of this transaction, as events carry it. */
export const FEED_TX = `(SELECT pg_current_xact_id()::text::bigint + ${OFFSET})`;

/** Every transaction below it is over: what they wrote is the feed, to which nothing comes in between any more. */
export const FEED_END = `(SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + ${OFFSET})`;
