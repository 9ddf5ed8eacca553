import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDiskFaults, whyNoFaults } from '../../bench/faults/disk-faults.ts';
import { checkListed, createUntilFailed, type Sent } from '../../testkit/processes/creates.ts';
import { makePlace } from '../../testkit/processes/place.ts';
import { succeeded } from '../../testkit/service/answer.ts';

test('an unflushable database ends the process, and the next start has every plant', {
  skip: whyNoFaults(),
}, async (t) => {
  const place = await makePlace(t);
  const faults = createDiskFaults(place.folder);
  const server = await place.serve({ env: faults.env(place.dataDir) });
  // A thousand pages make the log be copied into the database.
  faults.arm({ op: 'fsync', file: 'database' });
  const sent: Sent[] = [];
  await createUntilFailed(server, sent);
  const { code, stderr } = await server.ended;
  assert.equal(code, 1);
  assert.match(stderr, /\nerror: [^\n]+\n$/);
  assert.equal(faults.fired(), 1);
  await checkListed(await place.serve(), sent);
});

test('a failed flush that the kernel reports to the next start does not end the service', {
  skip: whyNoFaults(),
}, async (t) => {
  const place = await makePlace(t);
  const faults = createDiskFaults(place.folder);
  const killed = await place.serve();
  succeeded(await killed.request('POST', '/plants', { body: { id: 1, name: 'Alder' } }), 201);
  await killed.kill();
  faults.arm({ op: 'fsync', file: 'database' });
  const server = await place.serve({ env: faults.env(place.dataDir) });
  assert.equal(faults.fired(), 1);
  await checkListed(server, [{ id: 1, name: 'Alder', outcome: 201 }]);
  assert.equal((await server.stop()).code, 0);
});
