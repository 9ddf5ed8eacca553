import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import type { Lanes } from '../../../src/store/lane-threads.ts';
import type { PostgresStore } from '../../../src/store/postgres/store.ts';
import { type Given, given, outcomeOf } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import {
  fencesOf,
  makeStoreDatabase,
  openStoreIn,
  type TestDatabase,
} from '../../../testkit/stores/postgres.ts';

/** What deliveries leave in their table's indexes before it is vacuumed. */

const DELIVERIES = 6_000;
/** As many outcomes as are recorded together under load. */
const TOGETHER = 64;

describe('the indexes of deliveries', () => {
  let database: TestDatabase;
  let store: PostgresStore;
  let client: pg.Client;
  let lanes: Lanes;
  let ready: Given;
  before(async () => {
    database = await makeStoreDatabase();
    store = await openStoreIn(database.url);
    lanes = await lanesOf(store);
    ready = given(store, { lanes: lanes.store, fenceOf: fencesOf(lanes) });
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('ALTER TABLE deliveries SET (autovacuum_enabled = false)');
  });
  after(async () => {
    await client.end();
    await lanes.close();
    await store.close();
    await database.drop();
  });

  async function bytes(): Promise<number> {
    const { rows } = await client.query(`SELECT pg_indexes_size('deliveries')::int AS bytes`);
    return rows[0].bytes;
  }

  async function deliverAll(hook: string): Promise<void> {
    for (;;) {
      const found = await ready.due(hook, { limit: TOGETHER });
      if (found.length === 0) return;
      await lanes.store.record(found.map((due) => outcomeOf(due)));
    }
  }

  test('grow by at most half when a backlog is delivered', async () => {
    const { owner, hook } = await ready.subscriber(0);
    for (let made = 0; made < DELIVERIES; made += TOGETHER) {
      await Promise.all(Array.from({ length: TOGETHER }, () => ready.create(owner)));
    }
    await deliverAll(hook);
    const grown = await bytes();
    await client.query('REINDEX TABLE deliveries');
    const rebuilt = await bytes();
    assert.ok(grown <= 1.5 * rebuilt, `${(grown / rebuilt).toFixed(2)} times as large`);
  });
});
