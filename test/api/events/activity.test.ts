import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';

const service = await startService();
after(() => service.stop());

type Hour = { from: string; plants: number; delivered: number; failed: number; waiting: number };

async function activity(query = '', token = service.token): Promise<Hour[]> {
  const answer = succeeded(await service.request('GET', `/activity${query}`, { token }), 200);
  return (answer as { hours: Hour[] }).hours;
}

test('the last 24 hours are returned, oldest first, each from its beginning', async () => {
  const hours = await activity();
  assert.equal(hours.length, 24);
  const times = hours.map(({ from }) => Date.parse(from));
  assert.deepEqual(
    times,
    times.map((_, index) => (times[0] ?? 0) + index * 3_600_000),
  );
  assert.ok(hours.every(({ from }) => /:00:00\.000Z$/.test(from)));
  const age = Date.now() - (times.at(-1) ?? 0);
  assert.ok(age >= 0 && age < 2 * 3_600_000);
});

test('a plant counts in the hour in which it was created, for its owner alone', async () => {
  const token = await service.tokenFor('ann');
  const sum = async (of: string) =>
    (await activity('?hours=2', of)).reduce((total, { plants }) => total + plants, 0);
  succeeded(await service.request('POST', '/plants', { token, body: { name: 'Alder' } }), 201);
  succeeded(await service.request('POST', '/plants', { token, body: { name: 'Birch' } }), 201);
  assert.equal(await sum(token), 2);
  assert.equal(await sum(await service.tokenFor('bob')), 0);
});

test('the requested number of hours is returned', async () => {
  assert.equal((await activity('?hours=1')).length, 1);
  assert.equal((await activity('?hours=168')).length, 168);
  for (const query of ['?hours=0', '?hours=169', '?hours=x', '?hours=1.5', '?hours=1&hours=2', '?days=1']) {
    failed(await service.request('GET', `/activity${query}`), 40003);
  }
});
