import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { follow, idsOf, nextResponse, plant, take, withService } from '../../../testkit/service/follower.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import type { Service } from '../../../testkit/service/service.ts';

const LONG = '🌱'.repeat(255);
const COUNT = 12_000;

/** Twenty-five megabytes of events, more than the buffers between service and client hold. */
async function manyPlants(service: Service, user: string): Promise<void> {
  await service.beside(async ({ store, runtime }) => {
    const owner = (await store.access.users()).find(({ name }) => name === user)?.id ?? 0;
    for (let first = 1; first < COUNT; first += 4000) {
      const ids = Array.from({ length: 4000 }, (_, i) => BigInt(first + i));
      const given = { owner, name: LONG, tag: LONG, at: runtime.clock.now() };
      await Promise.all(
        ids.map((id) => store.plants.create({ ...given, id, event: runtime.ids.next('evt') })),
      );
    }
  });
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
    await manyPlants(service, 'sleeper');
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
    await manyPlants(service, 'stuck');
    await plant(service, token, { name: 'Last', id: COUNT + 1 });
    await untilStalled(follower.response, sent);
    using watch = startWatch();
    await service.stop();
    assert.ok(watch.ms() < 5000);
    follower.close();
  }));
