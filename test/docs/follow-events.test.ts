import assert from 'node:assert/strict';
import { existsSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { firstId } from '../../src/runtime.ts';
import { makePlace, type Place } from '../../testkit/processes/place.ts';
import type { Server } from '../../testkit/processes/server.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';
import { programOf, start } from './program.ts';

/** Runs the programs of the page about events, unchanged, against a service that restarts. */

const RECONCILE = programOf('follow-events.md', 'reconcile.mjs');
const FOLLOW = programOf('follow-events.md', 'follow.mjs');

test('reconcile.mjs gets every plant once over many pages, and resumes after a restart', async (t) => {
  const place = await makePlace(t);
  // So that a few plants fill several pages.
  const program = RECONCILE.replaceAll('1000', '3');
  let server = await place.serve({ env: { PORT: String(await freePort()) } });
  const reconcile = async () => {
    const { code, lines, stderr } = await start(t, place, server, program).ended;
    assert.deepEqual([code, stderr], [0, '']);
    return lines.map((line) => line.split(' ')[1]);
  };

  const first = await addPlants(server, 'A', 8);
  assert.deepEqual(await reconcile(), first);
  assert.deepEqual(await reconcile(), []);
  const between = await addPlants(server, 'B', 6);
  server = await restart(place, server);
  const afterwards = await addPlants(server, 'C', 1);
  assert.deepEqual(await reconcile(), [...between, ...afterwards]);
});

test('follow.mjs continues after reconcile.mjs, and gets every plant once across restarts of both ends', async (t) => {
  const place = await makePlace(t);
  let server = await place.serve({ env: { PORT: String(await freePort()) } });
  await addPlants(server, 'Before', 2);
  await start(t, place, server, RECONCILE).ended;
  const plants = await addPlants(server, 'A', 3);

  const first = start(t, place, server, FOLLOW);
  await first.lines(plants.length);
  server = await restart(place, server);
  plants.push(...(await addPlants(server, 'B', 3)));
  const seen = await first.lines(plants.length);
  await untilCursor(place, await newestCursor(server));
  await first.kill();

  plants.push(...(await addPlants(server, 'C', 3)));
  const second = start(t, place, server, FOLLOW);
  seen.push(...(await second.lines(3)));
  plants.push(...(await addPlants(server, 'D', 1)));
  seen.push(...(await second.lines(4)).slice(3));
  assert.deepEqual(seen, plants);
});

test('follow.mjs treats a silent connection as dead, and skips nothing when it reconnects', async (t) => {
  const place = await makePlace(t);
  const server = await place.serve();
  // Long enough to connect and read on a busy machine, otherwise it would reconnect for ever.
  const follower = start(t, place, server, FOLLOW.replace('45_000', '3000'));
  await follower.said(/Nothing came/);
  const plants = await addPlants(server, 'A', 3);
  assert.deepEqual(await follower.lines(plants.length), plants);
});

test('follow.mjs drops an expired cursor, says so, and follows new events', async (t) => {
  const place = await makePlace(t);
  let server = await place.serve({ env: { PORT: String(await freePort()) } });
  await addPlants(server, 'A', 1);
  await start(t, place, server, RECONCILE).ended;
  await server.stop();
  const removed = firstId('evt', Date.now() + 1);
  place.write(`INSERT INTO removed_events (owner, event) SELECT id, '${removed}' FROM users`);
  server = await place.serve();

  const follower = start(t, place, server, FOLLOW);
  await follower.said(/40007/);
  await untilCursor(place, await newestCursor(server));
  const plants = await addPlants(server, 'B', 2);
  assert.deepEqual(await follower.lines(plants.length), plants);
});

test('follow.mjs ends when its token is refused', async (t) => {
  const place = await makePlace(t);
  const server = await place.serve();
  const { code, stderr } = await start(t, place, server, FOLLOW, { token: 'none-of-ours' }).ended;
  assert.equal(code, 1);
  assert.match(stderr, /"error":40101/);
});

/** Adds plants one by one, and returns their names. */
async function addPlants(server: Server, prefix: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `${prefix}${i}`);
  for (const name of names) succeeded(await server.request('POST', '/plants', { body: { name } }), 201);
  return names;
}

/** Restarts it at the same address with the same data. */
async function restart(place: Place, server: Server): Promise<Server> {
  assert.equal((await server.stop()).code, 0);
  return place.serve({ env: { PORT: String(server.port) } });
}

/** The cursor after the newest event. */
async function newestCursor(server: Server): Promise<string> {
  const answer = succeeded(await server.request('GET', '/events?limit=1000'), 200) as { cursor: string };
  return answer.cursor;
}

/** Resolves once the program has saved this cursor. */
async function untilCursor({ folder }: Place, expected: string): Promise<void> {
  const file = join(folder, 'cursor');
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = () => {
    if (existsSync(file) && readFileSync(file, 'utf8') === expected) resolve();
  };
  const watcher = watch(folder, check);
  check();
  await promise;
  watcher.close();
}
