import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { storePath } from '../../src/config/config.ts';
import { createIds, firstId } from '../../src/runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import type { ExpiryPosition } from '../../src/webhooks/port.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { eventsIn, ownerOf } from '../../testkit/service/owner.ts';
import { type Service, startService } from '../../testkit/service/service.ts';

const DAY = 24 * 60 * 60 * 1000;
const OLD = Date.now() - 40 * DAY;
/** After every expired event, before every other. */
const BOUND = firstId('evt', Date.now() - 30 * DAY);

/** What the folder's store has of expired events. */
type Left = { events: number; deliveries: number; attempts: number };

test('plants are created and delivered while 5 000 old events are removed', async (t) => {
  const receiver = await startReceiver();
  let service: Service | undefined;
  // Before its folder is removed.
  t.after(() => Promise.all([receiver.stop(), service?.stop()]));
  const settings = { DATA_DIR: await newFolder(t), WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  // Always the embedded store, because expired rows are written into its file.
  const env = { ...settings, DATABASE_URL: '' };
  service = await startService(env);
  const webhook = await ownerOf(service, service.token).subscribe(receiver);
  await service.stop();
  await withStore(env.DATA_DIR, (store) => addOldPlants(store, env.DATA_DIR, 5_000));

  service = await startService(env);
  const owner = ownerOf(service, service.token);
  const seen = new Set<number>();
  let created = 0;
  for (let left = 1; left > 0; created++) {
    await owner.create(1);
    left = leftIn(env.DATA_DIR).events;
    seen.add(left);
  }
  assert.ok(seen.size >= 3, `seen between the slices: ${[...seen]}`);
  assert.deepEqual(leftIn(env.DATA_DIR), { events: 0, deliveries: 0, attempts: 0 });
  await receiver.receive(created);
  await owner.settled(webhook);
  assert.deepEqual(eventsIn(receiver.received).toSorted(), await owner.events());
});

test('a slice of the retention removes a limited number of rows, however many webhooks there are', async (t) => {
  const folder = await newFolder(t);
  const limit = 50;
  await withStore(folder, async (store) => {
    const user = await store.access.createUser({ name: 'ann', at: OLD });
    assert.ok(user);
    for (let i = 0; i < 20; i++) await addWebhook(store, user.id);
    await addOldPlants(store, folder, 200);
    let before = rowsOf(leftIn(folder));
    let from: ExpiryPosition | undefined;
    do {
      from = await store.chores.removeExpired({ before: BOUND, from, limit });
      const rows = rowsOf(leftIn(folder));
      // Rows of any table count; the last event is removed with all of its rows.
      assert.ok(before - rows <= 3 * limit, `${before - rows} rows in one transaction`);
      before = rows;
    } while (from);
    assert.equal(before, 0);
  });
});

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

async function withStore(folder: string, work: (store: Store) => Promise<void>): Promise<void> {
  const path = storePath(folder);
  const clock = { now: Date.now };
  const onFatal = assert.ifError;
  const store = await openSqliteStore({ path, writer: 'inline', clock, deliveryDelayMs: 0, onFatal });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

async function addWebhook(store: Store, owner: number): Promise<void> {
  const id = `wh_${randomBytes(8).toString('hex')}`;
  const keys = { publicKey: 'whpk_x', privateKey: 'whsk_x', secrets: ['whsec_x'] };
  const shown = { url: 'https://example.com/', description: undefined, rate: undefined, createdAt: OLD };
  assert.ok(await store.webhooks.createWebhook({ id, owner, ...shown, ...keys }, 100));
}

/** Adds plants of the first user as if created and delivered long ago. */
async function addOldPlants(store: Store, folder: string, count: number): Promise<void> {
  const ids = createIds({ now: () => OLD }, randomBytes);
  const [user] = await store.access.users();
  assert.ok(user);
  const added = Array.from({ length: count }, () => {
    const plant = { owner: user.id, id: undefined, name: 'Alder', tag: undefined };
    return store.plants.create({ ...plant, event: ids.next('evt'), at: OLD });
  });
  await Promise.all(added);
  const db = new DatabaseSync(storePath(folder));
  db.exec(`UPDATE deliveries SET state = 'delivered', attempts = 1, step = 1, generation = 1`);
  db.exec(
    `INSERT INTO attempts (webhook, event, generation, at, duration_ms, status)
     SELECT webhook, event, 1, ${OLD}, 5, 204
     FROM deliveries`,
  );
  db.close();
}

function leftIn(folder: string): Left {
  const db = new DatabaseSync(storePath(folder), { readOnly: true });
  const count = (table: string, column: string) =>
    Number(db.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${column} < ?`).get(BOUND)?.n);
  const left = {
    events: count('events', 'id'),
    deliveries: count('deliveries', 'event'),
    attempts: count('attempts', 'event'),
  };
  db.close();
  return left;
}

function rowsOf({ events, deliveries, attempts }: Left): number {
  return events + deliveries + attempts;
}
