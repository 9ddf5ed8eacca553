import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { storePath } from '../../src/config/config.ts';
import { plantsIn } from '../../testkit/processes/backed-up-store.ts';
import { createUntilFailed, type Sent } from '../../testkit/processes/creates.ts';
import { makePlace } from '../../testkit/processes/place.ts';
import { run } from '../../testkit/processes/program.ts';
import { dataOf } from '../../testkit/processes/remote.ts';
import { startServer } from '../../testkit/processes/server.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { eventually } from '../../testkit/service/eventually.ts';

test('a backup under load has everything acknowledged before it started, and no commit without the earlier ones', async (t) => {
  const place = await makePlace(t);
  const server = await place.serve();
  const sent: Sent[] = [];
  const warm = Promise.withResolvers<void>();
  const clients = createUntilFailed(server, sent, () => sent.length > 300 && warm.resolve());
  await warm.promise;
  const acknowledged = () => sent.filter(({ outcome }) => outcome === 201);
  const before = acknowledged().map(({ name }) => name);
  const file = join(place.folder, 'plants.backup');
  const made = JSON.parse(dataOf(await place.command('backup', file, '--json')));
  assert.ok(acknowledged().length > before.length, 'creates continued during the backup');
  // And beyond it: the backup lacks some of them.
  await eventually('later create', async () => (acknowledged().length > made.plants ? true : undefined));
  await server.kill();
  await clients;

  const restored = join(place.folder, 'restored');
  dataOf(await run(['restore', file, '--json', '--quiet', '--data-dir', restored]));
  assert.equal(plantsIn(storePath(restored)), made.plants);
  const second = await startServer(restored);
  t.after(() => second.kill());
  // The answer has the requested members.
  const listed = succeeded(await second.request('GET', '/plants?fields=id,name'), 200) as {
    id: number;
    name: string;
  }[];
  const names = new Set(listed.map(({ name }) => name));
  assert.deepEqual(
    before.filter((name) => !names.has(name)),
    [],
    'lost',
  );
  // Assigned ids follow the order of the commits.
  const assigned = listed.map(({ id }) => id).filter((id) => id > 0);
  assert.deepEqual(
    assigned,
    assigned.map((_, i) => i + 1),
  );
});
