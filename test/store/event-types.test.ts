import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { after, before, describe, test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import type { Given } from '../../testkit/stores/given.ts';

/**
 * A line in the table of event types is all it takes for a type to be shown and sent. Tests both stores with two more
 * lines.
 */
const MORE = `'plant.moved': { isInFeed: true }, 'plant.noted': { isInFeed: false },`;

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith('/src/webhooks/port.ts')) return loaded;
    const source = String(loaded.source);
    const more = source.replace(/(?<=const rules = \{\n)/, `${MORE}\n`);
    assert.notEqual(more, source);
    return { ...loaded, source: more };
  },
});
// Not before: they would load the table as it is.
const { given } = await import('../../testkit/stores/given.ts');
const { changeUnchecked, fencesOf, makeStoreDatabase, openStoreIn } = await import(
  '../../testkit/stores/postgres.ts'
);
const { deliveriesTo } = await import('../../testkit/stores/deliveries.ts');
const { lanesOf } = await import('../../testkit/stores/lanes.ts');
const { openTemporaryStore } = await import('../../testkit/stores/temporary-store.ts');
const { openConnection } = await import('../../src/store/sqlite/engine/connection.ts');

type Opened = { store: Store; ready: Given; change(sql: string): Promise<void>; drop(): Promise<void> };

async function openPostgres(): Promise<Opened> {
  const { url, drop } = await makeStoreDatabase();
  const store = await openStoreIn(url);
  const lanes = await lanesOf(store);
  return {
    store,
    ready: given(store, { lanes: lanes.store, fenceOf: fencesOf(lanes) }),
    change: (sql) => changeUnchecked(url, sql),
    async drop() {
      await lanes.close();
      await store.close();
      await drop();
    },
  };
}

async function openSqlite(): Promise<Opened> {
  const { store, lanes, path, drop } = await openTemporaryStore();
  const change = async (sql: string) => {
    const db = openConnection(path);
    db.exec('PRAGMA ignore_check_constraints = ON');
    db.exec(sql);
    db.close();
  };
  return { store, ready: given(store, { lanes }), change, drop };
}

for (const [name, open] of Object.entries({ PostgreSQL: openPostgres, SQLite: openSqlite })) {
  describe(`on ${name}, a type in the table of event types`, () => {
    let opened: Opened;
    let events: Record<string, string>;
    let owner: number;
    let hook: string;
    before(async () => {
      opened = await open();
      const { ready, change } = opened;
      ({ owner, hook } = await ready.subscriber(0));
      events = {};
      for (const type of ['plant.moved', 'plant.noted', 'plant.unknown']) {
        const event = ready.ids.next('evt');
        await ready.create(owner, undefined, { event });
        await change(`UPDATE events SET type = '${type}' WHERE owner = ${owner} AND id = '${event}'`);
        events[type] = event;
      }
    });
    after(() => opened.drop());

    test('is in the feed if the table says so', async () => {
      const page = await opened.store.events.events({ viewer: owner, after: undefined, limit: 9 });
      assert.deepEqual(
        page?.events.map(({ id, type }) => [type, id]),
        [['plant.moved', events['plant.moved']]],
      );
    });

    test('is sent', async () => {
      const found = await opened.ready.due(hook);
      assert.deepEqual(
        found.map(({ event }) => [event.type, event.id]),
        ['plant.moved', 'plant.noted'].map((type) => [type, events[type]]),
      );
    });

    test('is replayed if it is in the feed', async () => {
      const request = { owner, webhook: hook, from: 'evt_0', state: undefined };
      assert.equal(await opened.store.deliveries.countReplay(request), 1);
    });

    test('is listed with the deliveries', async () => {
      const listed = await deliveriesTo(opened.store, { owner, id: hook });
      assert.deepEqual(
        listed.map(({ event }) => event.type as string),
        ['plant.noted', 'plant.moved'],
      );
    });
  });
}
