import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import { FEED_TX } from '../../src/store/postgres/deliveries/events.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import type { Store } from '../../src/store/store.ts';
import { runSql } from '../servers/postgres.ts';
import { eventPrefix } from './fill.ts';

/** Stores in a PostgreSQL database: data written directly, and their speed without the service. */

/** Adds plants of the user `admin` directly, like `filledStore`. */
export async function addPlantsIn(url: string, count: number): Promise<void> {
  await runSql(
    url,
    `INSERT INTO plants (owner, id, name, folded, tag, created_at)
     SELECT 1, id, 'Plant ' || id, 'plant ' || id, 'Species ' || id % 630, 0
     FROM generate_series(1, $1::int8) id`,
    [count],
  );
  await runSql(url, 'VACUUM ANALYZE plants');
}

/** Plants per millisecond of a backlog, as a service would create. */
const MADE_IN_MS = 20;

/**
 * Like `addBacklog` of `backlog.ts`, but spread over time: the size of indexes depends on different ids and due
 * times.
 */
export async function addBacklogIn(url: string, count: number): Promise<void> {
  const { names, values } = await startOf(url);
  const now = Date.now();
  const times = Array.from({ length: Math.ceil(count / MADE_IN_MS) }, (_, n) => now - n).reverse();
  await runSql(
    url,
    `WITH made AS (
       SELECT n, t.at, t.prefix || lpad(n::text, 16, '0') AS id
       FROM unnest($1::int8[], $2::text[]) WITH ORDINALITY AS t (at, prefix, ms)
       CROSS JOIN LATERAL generate_series((t.ms - 1) * $3 + 1, least(t.ms * $3, $4::int8)) n
     ), written AS (
       INSERT INTO events (owner, id, tx, type, plant, name, tag, created_at)
       SELECT 1, id, ${FEED_TX}, 'plant.created', n, 'Plant ' || n, 'Species ' || n % 630, at
       FROM made
       ORDER BY id
       RETURNING id, owner, created_at
     )
     INSERT INTO deliveries (subscriber, webhook, event, owner, state, due, ${names})
     SELECT w.owner, w.id, e.id, e.owner, 'pending', e.created_at, ${values}
     FROM written e
     JOIN webhooks w ON w.owner = e.owner`,
    [times, times.map((at) => eventPrefix(at)), MADE_IN_MS, count],
  );
  await runSql(url, 'ANALYZE');
}

/** Like `multiplyWebhook` of `backlog.ts`; each has a path below the URL of the first. */
export async function multiplyWebhookIn(url: string, count: number): Promise<void> {
  await runSql(
    url,
    `WITH made AS (
       INSERT INTO webhooks (owner, id, url, status, private_key, public_key, created_at)
       SELECT owner, 'wh_' || lpad(n::text, 26, '0'), url || n, status, private_key, public_key, created_at
       FROM webhooks, generate_series(2, $1::int) n
       RETURNING id, created_at
     )
     INSERT INTO webhook_secrets (webhook, created_at, secret)
     SELECT made.id, made.created_at, secret
     FROM made, webhook_secrets`,
    [count],
  );
  await runSql(url, 'ANALYZE');
}

/** Other columns of a delivery, in other versions of the store, start at 0. */
async function startOf(url: string): Promise<{ names: string; values: string }> {
  const [row] = await runSql(
    url,
    `SELECT
       string_agg(column_name, ', ') AS names,
       string_agg(CASE data_type WHEN 'boolean' THEN 'false' ELSE '0' END, ', ') AS values
     FROM information_schema.columns
     WHERE table_schema = current_schema()
       AND table_name = 'deliveries'
       AND is_nullable = 'NO'
       AND column_default IS NULL
       AND column_name NOT IN ('subscriber', 'webhook', 'event', 'owner', 'state', 'due')`,
  );
  return { names: String(row?.names), values: String(row?.values) };
}

export async function countDeliveriesIn(url: string, state: string): Promise<number> {
  const [row] = await runSql(url, 'SELECT count(*)::int AS count FROM deliveries WHERE state = $1', [state]);
  return Number(row?.count);
}

/** The store in this process, with the user 1. */
export async function openStoreIn(url: string): Promise<Store> {
  const store = await openPostgresStore({
    url: parseDatabaseUrl(url),
    connections: 10,
    pooled: false,
    clock: { now: Date.now },
    log: silentLog,
    deliveryDelayMs: 0,
  });
  await store.access.createUser({ name: 'admin', at: Date.now() });
  return store;
}

const CALLERS = 64;
const CREATE_SECONDS = 1;
let made = 0;

/** Creates a second with this many concurrent callers. */
export async function timeCreatesOf(store: Store, ids: 'chosen' | 'given'): Promise<number> {
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
