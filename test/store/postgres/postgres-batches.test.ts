import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { createCounts } from '../../../src/observability/counts.ts';
import { silentLog } from '../../../src/runtime.ts';
import { openDatabase } from '../../../src/store/postgres/engine/database.ts';
import { announce } from '../../../src/store/postgres/plants/create-effects.ts';
import { createHints, nothingAnnounced } from '../../../src/store/postgres/replicas/hints.ts';
import { AT, given } from '../../../testkit/stores/given.ts';
import { makeStoreDatabase, openStoreIn, type TestDatabase } from '../../../testkit/stores/postgres.ts';

describe('batches on PostgreSQL', () => {
  let database: TestDatabase;
  before(async () => {
    database = await makeStoreDatabase();
  });
  after(() => database.drop());

  test('a hundred answers without an effect that arrive together are stored in one transaction', async (t) => {
    const sizes: number[] = [];
    const batchEnded = (_: unknown, { commands }: { commands: number }) => void sizes.push(commands);
    const store = await openStoreIn(database.url, { measures: { ...createCounts().measures, batchEnded } });
    t.after(store.close);
    const { id: user } = await given(store).user();
    const request = { user, method: 'POST', path: '/plants', fingerprint: 'f', at: AT, expiresAt: AT + 1 };
    const answer = { status: 409, location: undefined, body: '{}' };
    await Promise.all(
      Array.from({ length: 100 }, (_, n) => store.keys.keepAnswer({ ...request, key: `${n}`, answer })),
    );
    assert.deepEqual(sizes, [1, 100]);
  });

  test('a batch may wake 200 000 lanes', async (t) => {
    const options = { url: parseDatabaseUrl(database.url), connections: 1, pooled: false, log: silentLog };
    const way = openDatabase(options);
    t.after(way.close);
    const lanes = Array.from({ length: 200_000 }, (_, n) => ({ webhook: `wh_${n}`, due: 0 }));
    const announced = nothingAnnounced();
    announce(announced, { owners: null, lanes });
    const hints = createHints({ database: way, log: silentLog, listens: false, onHint() {} });
    hints.send(announced);
    await hints.close();
    assert.equal(announced.lanes.length, 200_000);
  });
});
