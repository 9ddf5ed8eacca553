import pg from 'pg';
import type { Check } from '../crash/verify.ts';

/**
 * How long after its end a lease may still be there: it is looked for such deliveries every second, behind a receiver
 * that fails a lane waits up to 5 s, and the machine is busy with starts.
 */
const LATE_MS = 15_000;
const LOOK_MS = 250;

const OVER = `SELECT webhook, event, fence, $1 - due AS late
  FROM deliveries
  WHERE leased AND state = 'pending' AND due < $1`;
const WAITING = `SELECT coalesce(max($1 - due), 0) AS late
  FROM deliveries
  WHERE NOT leased AND state = 'pending' AND due < $1`;

export type LeaseWatch = {
  /** @param names of the webhooks, by their ids */
  stop(names: ReadonlyMap<string, string>): Promise<{ check: Check; notes: string[] }>;
};

/** Watches the database for leases that ended and were not taken over: those of a replica that is gone. */
export async function watchLeases(url: string): Promise<LeaseWatch> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const late = new Map<string, Late>();
  let waited = 0;
  const look = async () => {
    const now = Date.now();
    const { rows } = await client.query(OVER, [now]);
    for (const { webhook, event, fence, late: ms } of rows)
      late.set(`${event} ${webhook} ${fence}`, { event, webhook, ms: Number(ms) });
    const [waiting] = (await client.query(WAITING, [now])).rows;
    waited = Math.max(waited, Number(waiting.late));
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, LOOK_MS);
  return {
    async stop(names) {
      clearInterval(timer);
      await looking;
      await client.end();
      return findingsOf([...late.values()], waited, names);
    },
  };
}

type Late = { event: string; webhook: string; ms: number };

function findingsOf(late: Late[], waited: number, names: ReadonlyMap<string, string>) {
  const violations = late
    .filter(({ ms }) => ms > LATE_MS)
    .map(({ event, webhook, ms }) => `${event} to ${names.get(webhook)}: ${ms} ms late`);
  const byName = [...Map.groupBy(late, ({ webhook }) => names.get(webhook))].map(([name, same]) => {
    const most = same.reduce((max, { ms }) => Math.max(max, ms), 0);
    return `${same.length} of ${name}, at most ${most} ms late`;
  });
  return {
    check: {
      name: `leases that ended were taken over within ${LATE_MS / 1000} s`,
      count: late.length,
      violations,
    },
    notes: [
      `leases that ended, as seen before they were taken over: ${byName.join('; ')}`,
      `what no replica had claimed waited at most ${waited} ms`,
    ],
  };
}
