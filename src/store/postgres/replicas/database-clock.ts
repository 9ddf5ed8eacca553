import type { Clock } from '../../../runtime.ts';

/** The database's time in milliseconds since the Unix epoch, as SQL: of leases, which no replica's clock may decide. */
export const DATABASE_NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::int8';

/** The same with its fractions, for `heard`. */
export const DATABASE_TIME = '(extract(epoch FROM clock_timestamp()) * 1000)::float8';

/**
 * The database's clock, as far as this process can tell: each answer that carries the time bounds it by when the
 * question was sent and when the answer came. The clocks of replicas may be minutes apart.
 *
 * It never goes back: when it is found to be ahead, or the primary is another server whose clock is behind, it goes at
 * half the pace until it is right.
 */
export type DatabaseClock = Clock & {
  /** @param time of the database, between `sentAt` and `heardAt` by the monotonic clock */
  heard(time: number, sentAt: number, heardAt: number): void;
};

const PACE_WHEN_AHEAD = 1 / 2;

/** @param monotonic milliseconds since whenever */
export function createDatabaseClock(monotonic: () => number): DatabaseClock {
  /** Of the database's time over the monotonic one; undefined until it was heard. */
  let ahead: number | undefined;
  let last: { time: number; at: number } | undefined;

  return {
    now() {
      if (ahead === undefined) throw new Error('The time of the database is not known yet.');
      const at = monotonic();
      const least = last ? last.time + (at - last.at) * PACE_WHEN_AHEAD : at + ahead;
      last = { time: Math.max(at + ahead, least), at };
      return Math.floor(last.time);
    },
    heard(time, sentAt, heardAt) {
      const [least, most] = [time - heardAt, time - sentAt];
      ahead = ahead === undefined ? (least + most) / 2 : Math.max(least, Math.min(ahead, most));
    },
  };
}
