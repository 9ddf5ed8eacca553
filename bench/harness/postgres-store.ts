import { parseDatabaseUrl } from '../../src/database-url.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import { FEED_TX } from '../../src/store/postgres/feed.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/store.ts';
import { eventPrefix } from './fill.ts';
import { runSql } from './postgres.ts';
import { summary } from './report.ts';

/** Stores in a PostgreSQL database: what is written into them past the service, and what they do without it. */

/** Plants of the user `admin`, past the service; as `filledStore` makes them. */
export async function addPlantsIn(url: string, count: number): Promise<void> {
  await runSql(
    url,
    `INSERT INTO plants (owner, id, name, tag, created_at)
     SELECT 1, id, 'Plant ' || id, 'Species ' || id % 630, 0
     FROM generate_series(1, $1::int8) id`,
    [count],
  );
  await runSql(url, 'VACUUM ANALYZE plants');
}

/** As `addBacklog` of `backlog.ts`. */
export async function addBacklogIn(url: string, count: number): Promise<void> {
  await runSql(
    url,
    `WITH written AS (
       INSERT INTO events (owner, id, tx, type, plant, name, tag, created_at)
       SELECT 1, $1 || lpad(n::text, 16, '0'), ${FEED_TX}, 'plant.created', n, 'Plant ' || n, 'Species ' || n % 630, $2
       FROM generate_series(1, $3::int8) n
       RETURNING id, owner
     )
     INSERT INTO deliveries (subscriber, webhook, event, owner, state, attempts, step, due, leased, fence)
     SELECT w.owner, w.id, e.id, e.owner, 'pending', 0, 0, $2, false, 0
     FROM written e
     JOIN webhooks w ON w.owner = e.owner`,
    [eventPrefix(), Date.now(), count],
  );
  await runSql(url, 'ANALYZE');
}

export async function countDeliveriesIn(url: string, state: string): Promise<number> {
  const [row] = await runSql(url, 'SELECT count(*)::int AS count FROM deliveries WHERE state = $1', [state]);
  return Number(row?.count);
}

/** The store in this process, with the user 1. */
export async function openStoreIn(url: string): Promise<PostgresStore> {
  const store = await openPostgresStore({
    url: parseDatabaseUrl(url),
    connections: 10,
    pooled: false,
    clock: { now: Date.now },
    log: silentLog,
    deliveryDelayMs: 0,
  });
  await store.access.ensureUser({ name: 'admin', at: Date.now() });
  return store;
}

const CALLERS = 64;
const CREATE_SECONDS = 1;
let made = 0;

/** Creates a second with so many callers at a time. */
export async function timeCreatesOf(store: PostgresStore, ids: 'chosen' | 'given'): Promise<number> {
  const start = performance.now();
  const end = start + CREATE_SECONDS * 1000;
  const runtime = systemRuntime(silentLog);
  let count = 0;
  const caller = async () => {
    while (performance.now() < end) {
      const id = ids === 'given' ? BigInt(-++made) : undefined;
      await store.plants.create({
        ...{ owner: 1, id, name: 'Black alder', tag: 'Alnus glutinosa' },
        ...{ event: runtime.ids.next('evt'), at: Date.now() },
      });
      count++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return (count * 1000) / (performance.now() - start);
}

const WINDOW = 16;
const READS = 40;

/** Milliseconds of a read of the first lane. */
export async function timeReadsOf(store: PostgresStore): Promise<number> {
  const times: number[] = [];
  const [lane] = await store.lanes.findWork(undefined, 1);
  if (!lane) throw new Error('nothing waits');
  for (let i = 0; i < READS; i++) {
    const start = performance.now();
    const request = { webhook: lane.webhook, now: Date.now(), after: undefined, limit: WINDOW };
    const { due } = await store.lanes.read(request);
    times.push(performance.now() - start);
    if (due.length !== WINDOW) throw new Error(`${due.length} of ${WINDOW} deliveries were read`);
  }
  return summary(times).median;
}
