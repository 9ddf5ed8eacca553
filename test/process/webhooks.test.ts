import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { firstId } from '../../src/runtime.ts';
import { createUntilFailed, type Sent } from '../../testkit/processes/creates.ts';
import { makePlace, type Place } from '../../testkit/processes/place.ts';
import { manyPlants } from '../../testkit/processes/plants.ts';
import type { Server } from '../../testkit/processes/server.ts';
import { seededRandom, testSeed } from '../../testkit/random/seeded.ts';
import { type Received, type Receiver, startReceiver } from '../../testkit/receivers/receiver.ts';
import { succeeded } from '../../testkit/service/answer.ts';

/** When it kills. */
const random = seededRandom(testSeed);

const ROUNDS = 3;
/** Events older than the webhooks: several slices of a replay. */
const OLD = 1_500;

/** Quick attempts, and enough of them to outlast every round. */
const QUICK = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_RETRY_SCHEDULE: `0s${',50ms'.repeat(99)}` };

test('after kill -9 in the middle of a replay every event of a plant arrives, whatever receivers answer', async (t) => {
  const place = await makePlace(t);
  const [steady, moody] = [await startReceiver(), await startReceiver()];
  t.after(() => Promise.all([steady.stop(), moody.stop()]));
  const moods = makeMoody(moody);
  await place.prepare();
  addOldEvents(place);
  const sent: Sent[] = [];

  let server = await place.serve({ env: QUICK });
  for (const receiver of [steady, moody]) await subscribeAndReplay(server, receiver);
  for (let round = 0; round < ROUNDS; round++) {
    await createUntilKilled(server, sent);
    // The end of the test would wait for hanging requests.
    moods.mayHang = round < ROUNDS - 1;
    server = await place.serve({ env: QUICK });
  }

  const events = eventsOf(place);
  assert.ok(events.length > OLD);
  await receivedAll(steady, events, () => true);
  await receivedAll(moody, events, ({ headers }) => moods.accepted.has(String(headers['webhook-id'])));
  assert.equal((await server.stop()).code, 0);
  assert.deepEqual(place.read('SELECT id FROM replays'), []);
  assert.deepEqual(place.read('PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
});

/** Answers most requests with 200, the others in every other way. */
function makeMoody(receiver: Receiver) {
  const moods = { mayHang: true, accepted: new Set<string>() };
  receiver.usually(({ headers }: Received, response: ServerResponse) => {
    const mood = Math.trunc(random() * 40);
    if (mood === 0 && moods.mayHang) return;
    if (mood <= 4) {
      response.writeHead(500).end();
    } else if (mood <= 8) {
      response.socket?.resetAndDestroy();
    } else {
      moods.accepted.add(String(headers['webhook-id']));
      response.writeHead(200).end();
    }
  });
  return moods;
}

/** Plants with events, as if created before the webhooks. */
function addOldEvents(place: Place): void {
  // Part of the ids, since events that are too old would be removed.
  const time = firstId('evt', Date.now()).slice(0, -16);
  place.write(manyPlants(OLD));
  place.write(
    `INSERT INTO events (owner, id, plant, name, tag, created_at)
     SELECT owner, '${time}' || format('%016d', id), id, name, tag, created_at
     FROM plants`,
  );
}

async function subscribeAndReplay(server: Server, { url }: Receiver): Promise<void> {
  const created = succeeded(await server.request('POST', '/webhooks', { body: { url } }), 201);
  // A webhook has an id.
  const { id } = created as { id: string };
  const body = { since: '1970-01-01T00:00:00Z' };
  const replay = await server.request('POST', `/webhooks/${id}/replay`, { body });
  assert.deepEqual(succeeded(replay, 202), { count: OLD });
}

/** Kills at a random moment, soon after the first create, which a busy machine may delay. */
async function createUntilKilled(server: Server, sent: Sent[]): Promise<void> {
  let isDoomed = false;
  await createUntilFailed(server, sent, () => {
    if (!isDoomed) setTimeout(() => void server.kill(), Math.trunc(random() * 150));
    isDoomed = true;
  });
}

/** The ids of all events; checks that plants and events correspond one to one. */
function eventsOf(place: Place): string[] {
  const plants = place.read('SELECT owner, id FROM plants ORDER BY owner, id');
  const events = place.read('SELECT owner, plant AS id FROM events ORDER BY owner, plant');
  assert.deepEqual(events, plants);
  return place.read('SELECT id FROM events').map(({ id }) => String(id));
}

async function receivedAll(
  receiver: Receiver,
  events: readonly string[],
  isAccepted: (request: Received) => boolean,
): Promise<void> {
  const missing = new Set(events);
  for (let seen = 0; missing.size > 0; seen++) {
    const request = (await receiver.receive(seen + 1))[seen];
    if (request && isAccepted(request)) missing.delete(String(request.headers['webhook-id']));
  }
}
