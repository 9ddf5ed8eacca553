import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launch, outcomeOf } from '../../../testkit/processes/program.ts';
import { makeDatabase, openStoreIn } from '../../../testkit/stores/postgres.ts';

const SLOW_MS = 2 * 3_600_000;
const HOUR_MS = 3_600_000;

test('a token that a machine with a slow clock creates in a database lasts as long as asked', async (t) => {
  const database = await makeDatabase();
  const store = await openStoreIn(database.url);
  t.after(() => store.close().then(database.drop));
  await store.access.createUser({ name: 'ann', at: store.clock.now() });
  const slow = `const { now } = Date; Date.now = () => now() - ${SLOW_MS};`;
  const child = launch(['token', 'create', '--user', 'ann', '--expires-in', '1h'], {
    DATABASE_URL: database.url,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(slow)}`,
  });
  const { code, stderr } = await outcomeOf(child);
  assert.equal(code, 0, stderr);
  const [token] = await store.access.tokens();
  const leftMs = (token?.expiresAt ?? 0) - store.clock.now();
  assert.ok(leftMs > HOUR_MS / 2 && leftMs <= HOUR_MS, `${leftMs} ms left`);
});
