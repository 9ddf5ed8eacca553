/**
 * The service's advisory locks, as the two numbers of `pg_advisory_xact_lock`: other programs may use the database, so
 * the first is unlikely to be theirs. They hold for a transaction only, so that they work through a pooler as well.
 */
const SERVICE = 1_886_150_515;

export const LOCKS = {
  /** One program at a time changes the schema. */
  migration: [SERVICE, 1],
  /** One replica at a time does a slice of the long work. */
  chores: [SERVICE, 2],
  /** One program at a time builds indexes. */
  indexes: [SERVICE, 3],
};
