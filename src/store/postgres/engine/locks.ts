/**
 * Arguments of `pg_advisory_xact_lock`, the first unlikely to be another program's. Per transaction, because of
 * poolers.
 */
const SERVICE = 1_886_150_515;

export const LOCKS = {
  /** One program at a time changes the schema. */
  migration: [SERVICE, 1],
  /** One replica at a time does long work. */
  chores: [SERVICE, 2],
  /** One program at a time builds indexes. */
  indexes: [SERVICE, 3],
};
