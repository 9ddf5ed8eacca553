import pg from 'pg';
import type { Check } from '../crash/verify.ts';

/**
 * How long a lane with work may be nobody's behind the end of its lease: a look at the replicas, a search, and a machine
 * that is busy with starts.
 */
const LATE_MS = 5_000;
const LOOK_MS = 250;

const NOBODYS = `SELECT l.webhook, l.replica
  FROM lanes l
  JOIN webhooks w ON w.id = l.webhook AND w.status = 'enabled' AND coalesce(w.paused_until, 0) < $1
  WHERE l.replica <> '' AND NOT EXISTS (
    SELECT 1
    FROM replicas r
    WHERE r.id = l.replica AND r.alive_until > (extract(epoch FROM clock_timestamp()) * 1000)::int8
  ) AND EXISTS (
    SELECT 1
    FROM deliveries d
    WHERE d.subscriber = w.owner AND d.webhook = w.id AND d.state = 'pending' AND d.due < $1
  )`;
const WAITING = `SELECT coalesce(max($1 - due), 0) AS late
  FROM deliveries
  WHERE state = 'pending' AND due < $1`;

export type LeaseWatch = {
  /** @param names of the webhooks, by their ids */
  stop(names: ReadonlyMap<string, string>): Promise<{ check: Check; notes: string[] }>;
};

/** Watches the database for lanes whose lease ended, and that nobody has taken over: those of a replica that is gone. */
export async function watchLeases(url: string): Promise<LeaseWatch> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const seen = new Map<string, Seen>();
  let waited = 0;
  const look = async () => {
    const now = Date.now();
    const { rows } = await client.query(NOBODYS, [now]);
    for (const { webhook, replica } of rows) {
      const key = `${webhook} ${replica}`;
      const { since } = seen.get(key) ?? { since: now };
      seen.set(key, { webhook, since, ms: now - since });
    }
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
      return findingsOf([...seen.values()], waited, names);
    },
  };
}

type Seen = { webhook: string; since: number; ms: number };

function findingsOf(seen: Seen[], waited: number, names: ReadonlyMap<string, string>) {
  const violations = seen
    .filter(({ ms }) => ms > LATE_MS)
    .map(({ webhook, ms }) => `${names.get(webhook)}: ${ms} ms late`);
  const most = seen.reduce((max, { ms }) => Math.max(max, ms), 0);
  return {
    check: {
      name: `lanes whose lease ended were taken over within ${LATE_MS / 1000} s`,
      count: seen.length,
      violations,
    },
    notes: [
      `lanes whose lease ended, as seen before they were taken over: ${seen.length}, at most ${most} ms late`,
      `what was due waited at most ${waited} ms`,
    ],
  };
}
