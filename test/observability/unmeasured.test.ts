import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makePlace } from '../../testkit/processes/place.ts';

/** The modules that a service had loaded when it ended, from Node's coverage. */
async function loadedBy(t: TestContext, env: Record<string, string>): Promise<string> {
  const place = await makePlace(t);
  const folder = join(place.folder, 'coverage');
  const server = await place.serve({ env: { ...env, NODE_V8_COVERAGE: folder } });
  await server.request('POST', '/plants', { body: { name: 'Oak' } });
  await server.stop();
  return readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join();
}

test('without METRICS_PORT the library for metrics is not even loaded', async (t) => {
  const [without, measured] = [await loadedBy(t, {}), await loadedBy(t, { METRICS_PORT: '0' })];
  assert.ok(!without.includes('/prom-client/'));
  assert.ok(measured.includes('/prom-client/'));
});
