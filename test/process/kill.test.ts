import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkListed, createUntilFailed, retryLost, type Sent } from '../../testkit/processes/creates.ts';
import { makePlace, type Place } from '../../testkit/processes/place.ts';
import { killOnce, launch } from '../../testkit/processes/program.ts';
import { type Server, TOKEN } from '../../testkit/processes/server.ts';
import { seededRandom, testSeed } from '../../testkit/random/seeded.ts';
import { type Receiver, startReceiver } from '../../testkit/receivers/receiver.ts';
import { succeeded } from '../../testkit/service/answer.ts';

/** When it kills. */
const random = seededRandom(testSeed);

const ROUNDS = 5;

/** Quick attempts, and enough of them to outlast every round. */
const QUICK = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_RETRY_SCHEDULE: `0s${',100ms'.repeat(50)}` };

test('an acknowledged plant survives kill -9 at any moment, and its one event is delivered', async (t) => {
  const place = await makePlace(t);
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const sent: Sent[] = [];

  for (let round = 0; round < ROUNDS; round++) {
    const server = await place.serve({ env: QUICK });
    if (round === 0) await subscribe(server, receiver);
    await createUntilKilled(server, sent);
  }
  const server = await place.serve({ env: QUICK });
  await retryLost(server, sent);

  await checkListed(server, sent);
  await receivedAll(receiver, eventsOf(place));
  assert.equal((await server.stop()).code, 0);
  assert.deepEqual(place.read('PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
});

test('a delivery interrupted by kill -9 is resent at the next start, with the same webhook-id', async (t) => {
  const place = await makePlace(t);
  const receiver = await startReceiver();
  t.after(receiver.stop);
  // Only the start can cause a second attempt in time.
  const env = { ...QUICK, WEBHOOK_RETRY_SCHEDULE: '0s,1h' };
  const first = await place.serve({ env });
  await subscribe(first, receiver);
  receiver.script('hang');
  succeeded(await first.request('POST', '/plants', { body: { name: 'Alder' } }), 201);
  await receiver.receive(1);
  await first.kill();

  await place.serve({ env });
  const [before, after] = await receiver.receive(2);
  assert.ok(before && after);
  assert.equal(after.headers['webhook-id'], before.headers['webhook-id']);
  assert.deepEqual(after.body, before.body);
});

/** The stages at which to kill a first start, by the files in the data folder. */
const STAGES = ['', 'serving.lock', 'plant-store.db', 'plant-store.db-wal', 'plant-store.db-sizes'];

test('a first start that is killed at any stage leaves a data folder that the next start can use', async (t) => {
  for (const file of STAGES) {
    const place = await makePlace(t);
    await killAt(place, file);
    const server = await place.serve();
    succeeded(await server.request('POST', '/plants', { body: { name: 'Alder' } }), 201);
    await server.stop();
  }
});

/** Kills a first start once this file is in the data folder; with an empty name, once the folder is there. */
async function killAt({ dataDir }: Place, file: string): Promise<void> {
  const child = launch(['serve'], { PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_TOKEN: TOKEN });
  const { signal } = await killOnce(child, () => existsSync(join(dataDir, file)));
  assert.equal(signal, 'SIGKILL', 'it ended too soon');
}

async function subscribe(server: Server, receiver: Receiver): Promise<void> {
  succeeded(await server.request('POST', '/webhooks', { body: { url: receiver.url } }), 201);
}

/** Kills a little after an answer, at a random moment. */
async function createUntilKilled(server: Server, sent: Sent[]): Promise<void> {
  const last = Math.trunc(random() * 300);
  let created = 0;
  await createUntilFailed(server, sent, () => {
    if (created++ === last) setTimeout(() => void server.kill(), Math.trunc(random() * 10));
  });
}

/** The ids of all events; checks that plants and events correspond one to one. */
function eventsOf(place: Place): string[] {
  const counts = place.read(
    `SELECT plants.id, count(events.id) AS events
     FROM plants
     LEFT JOIN events ON events.owner = plants.owner AND events.plant = plants.id
     GROUP BY plants.owner, plants.id`,
  );
  for (const { id, events } of counts) assert.equal(events, 1n, `plant ${id}`);
  const events = place.read('SELECT id FROM events').map(({ id }) => String(id));
  assert.equal(events.length, counts.length);
  return events;
}

async function receivedAll(receiver: Receiver, events: readonly string[]): Promise<void> {
  const missing = new Set(events);
  for (let seen = 0; missing.size > 0; seen++) {
    const request = (await receiver.receive(seen + 1))[seen];
    missing.delete(String(request?.headers['webhook-id']));
  }
}
