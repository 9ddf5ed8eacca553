/** SQL for the database's time in milliseconds since the Unix epoch: leases depend on it, not on replicas' clocks. */
export const DATABASE_NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::int8';

/** The same with fractions, for `heard`. */
export const DATABASE_TIME = '(extract(epoch FROM clock_timestamp()) * 1000)::float8';

export type DatabaseClock = ReturnType<typeof createDatabaseClock>;

const PACE_WHEN_AHEAD = 1 / 2;

/**
 * Estimates the database's clock: each response with its time bounds it by when the query was sent and the response
 * came. `now` never goes back: if it is ahead, or a new primary's clock is slower, it runs at half speed until it is
 * right.
 * @param monotonic in milliseconds since any fixed time
 */
export function createDatabaseClock(monotonic: () => number) {
  /** The database's time minus the monotonic one; undefined until the first response. */
  let ahead: number | undefined;
  let last: { time: number; at: number } | undefined;

  function estimateAt(at: number): number {
    if (ahead === undefined) throw new Error('The time of the database is still unknown.');
    return at + ahead;
  }

  return {
    now(): number {
      const at = monotonic();
      const estimate = estimateAt(at);
      const least = last ? last.time + (at - last.at) * PACE_WHEN_AHEAD : estimate;
      last = { time: Math.max(estimate, least), at };
      return Math.floor(last.time);
    },
    /** The best estimate, which may go back. */
    right: (): number => Math.floor(estimateAt(monotonic())),
    /** @param time of the database, between `sentAt` and `heardAt` by the monotonic clock */
    heard(time: number, sentAt: number, heardAt: number): void {
      const [least, most] = [time - heardAt, time - sentAt];
      ahead = ahead === undefined ? (least + most) / 2 : Math.max(least, Math.min(ahead, most));
    },
  };
}
