import { database as limits } from '../../../limits.ts';
import type { Log } from '../../../runtime.ts';
import { LACKING } from '../access/rights.ts';
import { type Database, statement, urgent } from '../engine/database.ts';
import { createDatabaseClock, DATABASE_TIME } from './database-clock.ts';

export type Heartbeat = Awaited<ReturnType<typeof startHeartbeat>>;

const LOOK = urgent(statement`SELECT value AS epoch, ${DATABASE_TIME} AS time, ${LACKING} AS lacking
  FROM meta
  WHERE name = 'access_epoch'`);

/** Watches whether the store answers and is usable, and whether any replica changed tokens, users or shares. */
export async function startHeartbeat({ read }: Pick<Database, 'read'>, log: Log) {
  const clock = createDatabaseClock(() => performance.now());
  let known = -1;
  /** A local number that stands for the known epoch; given only to callers. */
  let given = 0;
  let heardAt = 0;
  let failure: unknown;
  let underWay: Promise<void> | undefined;
  let again = false;

  async function look(): Promise<void> {
    const askedAt = performance.now();
    let problem: unknown;
    try {
      const [row] = await read(LOOK);
      clock.heard(Number(row?.time), askedAt, performance.now());
      const epoch = Number(row?.epoch);
      if (epoch !== known) given++;
      known = epoch;
      heardAt = askedAt;
      if (row?.lacking) problem = new Error(`The role of the service lacks rights: ${row.lacking}.`);
    } catch (error) {
      problem = error;
    }
    if (problem && !failure) log.error({ err: problem }, 'the store cannot be used');
    if (!problem && failure) log.info({}, 'the store can be used again');
    failure = problem;
  }

  async function run(): Promise<void> {
    do {
      again = false;
      await look();
    } while (again);
    underWay = undefined;
  }

  /** Checks now: after a change by this replica, or a hint of one. */
  function beat(): Promise<void> {
    // A running check may have read before the change.
    if (underWay) again = true;
    underWay ??= run();
    return underWay;
  }

  await beat();
  // Without sufficient rights to write, the service starts anyway, and is ready once they are granted.
  if (heardAt === 0) throw failure;
  const timer = setInterval(() => void (underWay ?? beat()), limits.heartbeatMs);

  return {
    /**
     * Changes whenever access does, and with every call while the store has not answered for long: nobody may rely on
     * it then.
     */
    epoch(): number {
      if (performance.now() - heardAt > limits.trustedMs) given++;
      return given;
    },
    clock,
    beat,
    /** Throws the error of the last check. */
    check(): void {
      if (failure) throw failure;
      if (performance.now() - heardAt > limits.trustedMs) throw new Error('The database does not answer.');
    },
    stop: () => clearInterval(timer),
  };
}
