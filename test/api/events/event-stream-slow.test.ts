import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { storePath } from '../../../src/config/config.ts';
import { foldName } from '../../../src/plants/plant.ts';
import { firstId } from '../../../src/runtime.ts';
import { follow, idsOf, nextResponse, plant, take, withService } from '../../../testkit/service/follower.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import type { Service } from '../../../testkit/service/service.ts';

const LONG = '🌱'.repeat(255);
const COUNT = 12_000;

/**
 * Twenty-five megabytes of events, more than the buffers between service and client hold. Written by SQL, since creates
 * take long.
 */
function manyPlants({ dataDir }: Service, user: string): void {
  const db = new DatabaseSync(storePath(dataDir), { timeout: 5000 });
  const numbers =
    'WITH RECURSIVE number (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM number WHERE id < CAST(? AS INTEGER))';
  db.exec('BEGIN IMMEDIATE');
  db.prepare(
    `${numbers} INSERT INTO plants (owner, id, name, folded, tag, created_at)
     SELECT users.id, number.id, ?, ?, ?, 0 FROM number, users WHERE users.name = ?`,
  ).run(COUNT, LONG, foldName(LONG), LONG, user);
  // Later than the start of the stream, and earlier than the plants that the test creates.
  db.prepare(
    `INSERT INTO events (owner, id, plant, name, tag, created_at)
     SELECT owner, ? || format('%016d', id), id, name, tag, created_at FROM plants`,
  ).run(firstId('evt', Date.now()).slice(0, -16));
  db.exec('COMMIT');
  db.close();
}

/**
 * Waits until the buffers on the way are full: bytes wait in the service and none leave. Resolves with how many
 * arrived.
 */
async function untilStalled(client: { socket: Socket }, service: ServerResponse): Promise<number> {
  for (let before = -1; ; ) {
    const arrived = client.socket.bytesRead;
    const waiting = service.socket?.writableLength ?? 0;
    if (waiting > 0 && arrived === before) return arrived;
    before = waiting > 0 ? arrived : -1;
    await delay(200);
  }
}

test('a client that does not read costs bounded memory, and gets every event in order when it resumes', () =>
  withService(async (service) => {
    const token = await service.tokenFor('sleeper');
    const sending = nextResponse();
    const follower = await follow(service, token);
    const sent = await sending;
    follower.response.pause();
    manyPlants(service, 'sleeper');
    const before = process.memoryUsage().rss;
    // Wakes the stream before its next poll.
    await plant(service, token, { name: 'Last', id: COUNT + 1 });
    const arrived = await untilStalled(follower.response, sent);
    const growth = process.memoryUsage().rss - before;
    assert.ok(arrived < 20 * 2 ** 20, `${arrived} bytes were sent to a client that does not read`);
    assert.ok(growth < 32 * 2 ** 20, `the process grew by ${growth} bytes`);
    const waiting = sent.socket?.writableLength ?? 0;
    assert.ok(waiting > 0 && waiting < 2 ** 20, `${waiting} bytes wait in the service`);

    // Others are still served.
    const awake = await follow(service, token);
    await plant(service, token, { name: 'Later', id: COUNT + 2 });
    assert.deepEqual(idsOf(await take(awake, 1)), [COUNT + 2]);
    awake.close();

    const events = await take(follower, COUNT + 2);
    assert.deepEqual(
      idsOf(events),
      Array.from({ length: COUNT + 2 }, (_, i) => i + 1),
    );
    follower.close();
  }));

test('a client that does not read does not delay the stop', () =>
  withService(async (service) => {
    const token = await service.tokenFor('stuck');
    const sending = nextResponse();
    const follower = await follow(service, token);
    const sent = await sending;
    follower.response.pause();
    manyPlants(service, 'stuck');
    await plant(service, token, { name: 'Last', id: COUNT + 1 });
    await untilStalled(follower.response, sent);
    using watch = startWatch();
    await service.stop();
    assert.ok(watch.ms() < 5000);
    follower.close();
  }));
