import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { AppError } from '../../../src/errors.ts';
import type { Caller } from '../../../src/idempotency/port.ts';
import { silentLog } from '../../../src/runtime.ts';
import { type Database, openDatabase } from '../../../src/store/postgres/engine/database.ts';
import { LOCKS } from '../../../src/store/postgres/engine/locks.ts';
import { createQueues } from '../../../src/store/postgres/engine/queues.ts';
import { batched, createWriter } from '../../../src/store/postgres/engine/writer.ts';
import { creates } from '../../../src/store/postgres/plants/creates.ts';
import { deletes } from '../../../src/store/postgres/plants/plant-deletes.ts';
import type { PostgresOptions } from '../../../src/store/postgres/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { type Given, given } from '../../../testkit/stores/given.ts';
import {
  administer,
  makeDatabase,
  openStoreIn,
  type TestDatabase,
} from '../../../testkit/stores/postgres.ts';

/** Each of these once failed, on PostgreSQL only. */

const PATIENCE_MS = 10_000;
/** By then a cancel has hit a BEGIN, which takes microseconds, some forty times. */
const CANCELLING_MS = 2_500;

describe('past failures on PostgreSQL', () => {
  let database: TestDatabase;
  let replica: Given;
  /** A session besides those of the stores. */
  let session: pg.Client;
  const opened: Store[] = [];

  before(async () => {
    database = await makeDatabase();
    replica = given(await open());
    session = new pg.Client({ connectionString: database.url });
    await session.connect();
  });
  after(async () => {
    await session.end();
    await Promise.all(opened.map((store) => store.close()));
    await database.drop();
  });

  async function open(more: Partial<PostgresOptions> = {}): Promise<Store> {
    const store = await openStoreIn(database.url, more);
    opened.push(store);
    return store;
  }

  /** Opens the store through a URL with changes. */
  async function through<T>(
    change: (url: URL) => void,
    work: (database: Database) => Promise<T>,
  ): Promise<T> {
    const url = new URL(database.url);
    change(url);
    const way = openDatabase({
      url: parseDatabaseUrl(url.href),
      connections: 8,
      pooled: false,
      log: silentLog,
    });
    return work(way).finally(way.close);
  }

  /** Waits until this many sessions wait for a lock. */
  async function waiting(count: number): Promise<void> {
    for (const late = performance.now() + PATIENCE_MS; performance.now() < late; await pause(5)) {
      const { rows } = await administer(
        database.url,
        `SELECT pid
         FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      if (rows.length === count) return;
    }
    throw new Error(`not ${count} sessions wait for a lock`);
  }

  test('when the BEGIN of a batch is cancelled, no client is told that an existing plant was not created', async () => {
    const { id: owner } = await replica.user();
    const undone: string[] = [];
    const until = performance.now() + CANCELLING_MS;
    async function createAll(client: number): Promise<void> {
      for (let n = 0; performance.now() < until; n++) {
        const name = `${client}-${n}`;
        // Without an id, it takes two statements in a transaction.
        await replica.create(owner, undefined, { name }).catch((error: unknown) => {
          if (error instanceof AppError && error.code === 50302) undone.push(name);
        });
      }
    }
    async function cancelAll(): Promise<void> {
      while (performance.now() < until) {
        await session.query(
          `SELECT pg_sleep(0.0003), pg_cancel_backend(pid)
           FROM pg_stat_activity, generate_series(1, 100)
           WHERE datname = current_database() AND application_name = 'plant-store'`,
        );
      }
    }
    await Promise.all([...[1, 2, 3, 4].map(createAll), cancelAll()]);
    assert.ok(undone.length > 0, 'nothing was cancelled');
    const there = await session.query('SELECT name FROM plants WHERE owner = $1 AND name = ANY($2)', [
      owner,
      undone,
    ]);
    assert.deepEqual(there.rows, []);
  });

  test('when the server admits no more connections, reads use the open ones', async () => {
    const role = `role_${randomBytes(6).toString('hex')}`;
    await administer(database.url, `CREATE ROLE ${role} LOGIN PASSWORD 'plants' CONNECTION LIMIT 2`);
    function asRole(url: URL): void {
      url.username = role;
      url.password = 'plants';
    }
    const slow = { name: 'slow', text: 'SELECT pg_sleep(0.02)' };
    const rows = await through(asRole, ({ read }) =>
      Promise.all(Array.from({ length: 30 }, () => read(slow))),
    ).finally(() => administer(database.url, `DROP ROLE ${role}`));
    assert.equal(rows.length, 30);
  });

  test('options in the URL do not replace those that the service sets for its sessions', async () => {
    const options = '-c search_path=plants -c statement_timeout=0';
    const settings = {
      name: 'settings',
      text: `SELECT current_setting('search_path') AS path, current_setting('statement_timeout') AS timeout`,
    };
    const rows = await through(
      (url) => url.searchParams.set('options', options),
      ({ read }) => read(settings),
    );
    assert.deepEqual(rows, [{ path: 'plants', timeout: '8s' }]);
  });

  test('a delete that waits for the create that starts the plant count is counted', async () => {
    const counting = given(await open({ maxPlantsPerUser: 3 }));
    const { id: owner } = await replica.user();
    await replica.create(owner, 1n);
    await replica.create(owner, 2n);
    // The create has counted once it waits for this session, and is not committed.
    await session.query('BEGIN');
    await session.query(
      `INSERT INTO plants (owner, id, name, created_at)
       VALUES ($1, 3, 'Alder', 0)`,
      [owner],
    );
    const created = counting.create(owner, 3n);
    await waiting(1);
    const caller: Caller = { user: owner, hasLeft: () => false, once: undefined };
    const deleted = replica.store.plants.delete(owner, 1n, caller);
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual(await Promise.all([created, deleted]), [3n, true]);
    assert.equal(await counting.create(owner, 4n), 4n);
  });

  test('while another replica runs chores, retention resumes later where it was', async () => {
    const { removeExpired } = replica.store.chores;
    const from = { owner: 7, event: 'evt_7' };
    await session.query('BEGIN');
    await session.query('SELECT pg_advisory_xact_lock($1::int, $2::int)', LOCKS.chores);
    const positions = await Promise.all(
      [undefined, from].map((position) => removeExpired({ before: 'evt_', from: position, limit: 1 })),
    );
    await session.query('ROLLBACK');
    assert.deepEqual(positions, [{ owner: 0, event: '' }, from]);
  });

  test('a failure after a commit does not repeat the batch', async () => {
    const { owner } = await replica.subscriber(1);
    const url = parseDatabaseUrl(database.url);
    const own = openDatabase({ url, connections: 1, pooled: false, log: silentLog });
    const write = createWriter(own, () => Promise.reject(new Error('not now')));
    const queues = createQueues(write, { now: Date.now });
    const creating = creates({ deliveryDelayMs: 0 });
    const create = () => batched(creating, { plant: replica.plant(owner), caller: undefined });
    // A second run would find nothing to delete, and each event already there.
    const commands = [create(), create(), batched(deletes, { owner, id: 1n, caller: undefined })];
    const outcomes = await Promise.allSettled(commands.map((command) => queues.submit(command, 1)));
    await queues.close();
    await own.close();
    const codes = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 'done'));
    assert.deepEqual(codes, [50000, 50000, 50000]);
    assert.deepEqual(await replica.walk(owner, 10), [2n, 3n]);
  });
});
