import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { attemptsOf, deliveriesTo } from '../../../testkit/stores/deliveries.ts';
import { AT, given, outcomeOf } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';

const MIGRATIONS = new URL('../../../src/store/sqlite/migrations/', import.meta.url);

/** An empty store with the schema of an older version. */
function makeStore(path: string, version: number): DatabaseSync {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec(
    'CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT',
  );
  const insert = db.prepare('INSERT INTO migrations VALUES (?, ?, ?, ?)');
  for (const [n, name] of readdirSync(MIGRATIONS).toSorted().slice(0, version).entries()) {
    const sql = readFileSync(new URL(name, MIGRATIONS), 'utf8');
    db.exec(sql);
    insert.run(n + 1, name, createHash('sha256').update(sql).digest('hex'), AT);
  }
  return db;
}

/** A store of the first version: a webhook with a delivery in each state. */
function makeFirstVersion(path: string): void {
  const db = makeStore(path, 1);
  db.exec(`INSERT INTO users VALUES (1, 'ann', ${AT})`);
  db.exec(
    `INSERT INTO webhooks VALUES (1, 'wh_1', 'https://example.com/', NULL, 'enabled', 'whsk_x', 'whpk_x', ${AT})`,
  );
  db.exec(`INSERT INTO webhook_secrets VALUES ('wh_1', ${AT}, 'whsec_x')`);
  const event = db.prepare(`INSERT INTO events VALUES (1, ?, ?, 'Alder', NULL, ${AT})`);
  const delivery = db.prepare(`INSERT INTO deliveries VALUES ('wh_1', ?, 1, ?, ?, ?, ?, ?, ?)`);
  for (const [n, state] of ['pending', 'delivered', 'failed', 'pending'].entries()) {
    event.run(`evt_${n}`, 9007199254740993n + BigInt(n));
    // The last one was being sent when the process ended.
    delivery.run(`evt_${n}`, state, n, AT + n, n === 3 ? 1 : 0, n, n === 2 ? 'no' : null);
  }
  db.close();
}

test('a store of the first version keeps its webhooks and deliveries, and sends what waited', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  const path = join(folder, 'store.db');
  makeFirstVersion(path);
  const store = await openSqliteStore({
    path,
    writer: 'thread',
    clock: { now: () => AT },
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });

  assert.match(store.cursorKeys.secret, /^[0-9a-f]{64}$/);

  assert.deepEqual(
    (await deliveriesTo(store, { owner: 1, id: 'wh_1' })).map(({ event, state, attempts, reason }) => [
      event.plant.id,
      state,
      attempts,
      reason,
    ]),
    [
      [9007199254740996n, 'pending', 3, undefined],
      [9007199254740995n, 'failed', 2, 'no'],
      [9007199254740994n, 'delivered', 1, undefined],
      [9007199254740993n, 'pending', 0, undefined],
    ],
  );
  const [webhook] = await store.webhooks.webhooks(1);
  assert.deepEqual([webhook?.url, webhook?.status], ['https://example.com/', 'enabled']);

  const lanes = await lanesOf(store);
  const { due, record } = given(store, { lanes: lanes.store });
  const found = await due('wh_1', { now: AT + 9 });
  assert.deepEqual(
    found.map(({ event, trace, step, generation, webhook }) => [
      event.id,
      trace,
      step,
      generation,
      webhook.secrets,
    ]),
    [
      ['evt_0', undefined, 0, 0, ['whsec_x']],
      ['evt_3', undefined, 3, 3, ['whsec_x']],
    ],
  );
  for (const one of found) assert.equal(await record(outcomeOf(one)), 'settled');
  assert.deepEqual(
    (await store.events.events({ viewer: 1, after: undefined, limit: 10 }))?.events.map(({ type }) => type),
    Array(4).fill('plant.created'),
  );
  await lanes.close();
  await store.close();
  await rm(folder, { recursive: true });
});

test('a store that is refused is closed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'store.db');
  const db = makeStore(path, readdirSync(MIGRATIONS).length);
  db.exec(`INSERT INTO migrations VALUES (99, '0099_later', '', ${AT})`);
  db.close();
  const options = { path, writer: 'inline', clock: { now: () => AT }, deliveryDelayMs: 0 } as const;
  await assert.rejects(
    openSqliteStore({ ...options, onFatal: assert.ifError }),
    /^Error: The store .*store\.db was created by a newer version/,
  );
  assert.equal(existsSync(`${path}-wal`), false, 'the last to close a store deletes its log');
});

test('counters begin above every id that a plant has or had, except those above 2^52', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  const path = join(folder, 'store.db');
  makeFirstVersion(path);
  const db = new DatabaseSync(path);
  for (const user of [2, 3, 4, 5]) db.exec(`INSERT INTO users VALUES (${user}, 'user-${user}', ${AT})`);
  db.exec(
    `INSERT INTO plants (owner, id, name, created_at)
     VALUES (2, 7, 'Fir', 0), (3, -3, 'Fir', 0), (4, 4503599627370496, 'Fir', 0), (5, 4503599627370497, 'Fir', 0)`,
  );
  db.exec(`INSERT INTO events VALUES (2, 'evt_9', 9, 'Fir', NULL, 0)`);
  db.close();
  const store = await openSqliteStore({
    path,
    writer: 'thread',
    clock: { now: () => AT },
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
  const { create } = given(store);
  const ids = await Promise.all([1, 2, 3, 4, 5].map((owner) => create(owner)));
  assert.deepEqual(ids, [1n, 10n, 1n, 4503599627370497n, 1n]);
  await store.close();
  await rm(folder, { recursive: true });
});

test('deliveries leased by a killed older version are due, and their attempts continue', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  const path = join(folder, 'store.db');
  const db = makeStore(path, 6);
  db.exec(`INSERT INTO users (id, name, created_at) VALUES (1, 'ann', ${AT})`);
  db.exec(
    `INSERT INTO webhooks (owner, id, url, status, private_key, public_key, created_at, next_due, claimed_at)
     VALUES (1, 'wh_1', 'https://example.com/', 'enabled', 'whsk_x', 'whpk_x', ${AT}, ${AT + 60}, ${AT})`,
  );
  const event = db.prepare(
    `INSERT INTO events (owner, id, plant, name, created_at) VALUES (1, ?, 1, 'Alder', ${AT})`,
  );
  const delivery = db.prepare(
    `INSERT INTO deliveries (webhook, event, owner, state, attempts, step, due, leased, fence)
     VALUES ('wh_1', ?, 1, 'pending', ?, ?, ?, ?, ?)`,
  );
  for (const id of ['evt_1', 'evt_2', 'evt_3']) event.run(id);
  // One waits; one was sent for the second time, leased until much later; one waits for its third attempt.
  delivery.run('evt_1', 0, 0, AT, 0, 0);
  delivery.run('evt_2', 1, 1, Date.now() + 3_600_000, 1, 5);
  delivery.run('evt_3', 2, 2, AT + 60, 0, 2);
  db.exec(
    `INSERT INTO attempts (webhook, event, fence, at, duration_ms) VALUES ('wh_1', 'evt_2', 4, ${AT}, 1)`,
  );
  db.close();

  const store = await openSqliteStore({
    path,
    writer: 'thread',
    clock: { now: () => AT },
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
  const lanes = await lanesOf(store);
  const { due, record } = given(store, { lanes: lanes.store });
  const found = await due('wh_1', { now: Date.now() });
  assert.deepEqual(
    found.map(({ event: { id }, step, generation, suspicions }) => [id, step, generation, suspicions]),
    [
      ['evt_1', 0, 0, 0],
      ['evt_3', 2, 2, 0],
      ['evt_2', 1, 5, 0],
    ],
  );
  for (const one of found) {
    const attempt = { ...outcomeOf(one).attempt, at: AT + 1 };
    assert.equal(await record(outcomeOf(one, { attempt })), 'settled');
  }
  assert.deepEqual(
    (await attemptsOf(store, 1, 'wh_1', 'evt_2')).map(({ at }) => at),
    [AT, AT + 1],
  );
  await lanes.close();
  await store.close();
  await rm(folder, { recursive: true });
});

test('users deleted by an earlier version lose their placeholder names, and references to users stay', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  const path = join(folder, 'store.db');
  const db = makeStore(path, 7);
  db.exec(`INSERT INTO users VALUES (1, 'ann', ${AT}, NULL, NULL), (2, ' 2', ${AT}, ${AT}, ${AT})`);
  db.exec(
    `INSERT INTO tokens (hash, id, user, label, scopes, bootstrap, created_at) VALUES ('h', 'tok_1', 1, '', '', 0, ${AT})`,
  );
  db.exec(`INSERT INTO plants VALUES (1, 7, 'Alder', NULL, ${AT}), (2, 7, 'Birch', NULL, ${AT})`);
  db.close();

  const store = await openSqliteStore({
    path,
    writer: 'thread',
    clock: { now: () => AT },
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
  assert.equal((await store.access.findToken('h'))?.user.name, 'ann');
  const users = () => {
    const reader = new DatabaseSync(path, { readOnly: true });
    const rows = reader.prepare('SELECT id, name FROM users ORDER BY id').all();
    reader.close();
    return rows.map(({ id, name }) => [id, name]);
  };
  assert.deepEqual(users(), [
    [1, 'ann'],
    [2, null],
  ]);
  const epoch = store.access.accessEpoch();
  await store.access.setUserDisabled('ann', true, AT);
  assert.notEqual(store.access.accessEpoch(), epoch);
  await given(store).finishChores();
  assert.deepEqual(users(), [[1, 'ann']]);
  await store.close();
  const closed = new DatabaseSync(path);
  assert.deepEqual(closed.prepare('PRAGMA foreign_key_check').all(), []);
  assert.throws(() => closed.exec('DELETE FROM users'), /FOREIGN KEY constraint failed/);
  closed.close();
  await rm(folder, { recursive: true });
});
