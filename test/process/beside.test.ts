import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlace } from '../../testkit/processes/place.ts';
import { succeeded } from '../../testkit/service/answer.ts';

test('a second server on a data folder is refused in one line, until the first one has ended or been killed', async (t) => {
  const place = await makePlace(t);
  const first = await place.serve();
  const { code, stderr } = await place.serveInVain();
  assert.equal(code, 1);
  assert.match(stderr, /^error: Another plant-store server is running on [^\n]*\n$/);
  assert.ok(stderr.includes(place.dataDir));
  succeeded(await first.request('POST', '/plants', { body: { name: 'Alder' } }), 201);
  await first.kill();

  const next = await place.serve();
  assert.deepEqual(succeeded(await next.request('GET', '/plants'), 200), [{ name: 'Alder' }]);
});
