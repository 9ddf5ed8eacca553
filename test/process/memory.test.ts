import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { residentBytes } from '../../bench/measure/proc.ts';
import { makePlace } from '../../testkit/processes/place.ts';
import { manyPlants } from '../../testkit/processes/plants.ts';
import { type Server, TOKEN } from '../../testkit/processes/server.ts';

const PLANTS = 200_000;
const MIB = 1024 * 1024;
const READERS = 3;
/** The lists take 304 MiB, and the service may not grow by more than this; 100 MiB are usual. */
const MOST_GROWTH = 192 * MIB;
/** How often the reader pauses, and for how long: enough for a service that does not wait to run ahead. */
const STOPS = 10;
const STOP_MS = 200;

test('slow readers of 200 000 plants get them all, and the memory of the service stays bounded', async (t) => {
  if (!existsSync('/proc/self/status'))
    return t.skip('there is no /proc to read the memory of a process from');
  const place = await makePlace(t);
  await place.prepare();
  place.write(manyPlants(PLANTS));
  const server = await place.serve();
  // Memory that the first requests allocate for good.
  await server.request('GET', '/plants?limit=1000');
  const before = residentBytes(server.pid);

  const lists = await Promise.all(Array.from({ length: READERS }, () => readSlowly(server)));
  for (const { plants } of lists) assert.equal(plants, PLANTS);
  const growth = Math.max(...lists.map(({ peak }) => peak)) - before;
  assert.ok(
    growth < MOST_GROWTH,
    `${Math.round(growth / MIB)} MiB more than the ${Math.round(before / MIB)} MiB before`,
  );
});

const ATTACKERS = 50;
/** 20 to 130 MiB are usual; without bounds, the chunks alone take 600. */
const MOST_FOR_ATTACKS = 256 * MIB;

test('bodies in tiny chunks and bursts of tiny requests use little memory, and health checks are answered', async (t) => {
  if (!existsSync('/proc/self/status'))
    return t.skip('there is no /proc to read the memory of a process from');
  const place = await makePlace(t);
  const server = await place.serve();
  const host = 'Host: x\r\n';
  const post = `POST /plants HTTP/1.1\r\n${host}Authorization: Bearer x\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const attacks = [
    post + '1\r\n \r\n'.repeat(65_000),
    `GET /openapi.json HTTP/1.1\r\n${host}\r\n`.repeat(60) + `GET / HTTP/1.1\r\n${host}\r\n`.repeat(2000),
  ];
  const before = residentBytes(server.pid);
  for (const bytes of attacks) {
    const sockets = Array.from({ length: ATTACKERS }, () =>
      connect(Number(new URL(server.url).port), '127.0.0.1'),
    );
    const sent = sockets.map(
      (socket) =>
        new Promise<unknown>((resolve) => {
          socket.on('error', resolve).pause().write(bytes, resolve);
        }),
    );
    // The first comes while the bytes arrive.
    for (let n = 0; n < 3; n++) assert.equal((await server.request('GET', '/healthz')).status, 200);
    const growth = residentBytes(server.pid) - before;
    for (const socket of sockets) socket.destroy();
    await Promise.all(sent);
    assert.ok(growth < MOST_FOR_ATTACKS, `${Math.round(growth / MIB)} MiB more`);
  }
});

/** Reads the list with a few pauses, and measures the service's memory during each. */
async function readSlowly(server: Server): Promise<{ plants: number; peak: number }> {
  const request = get(`${server.url}/plants`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const [response]: IncomingMessage[] = await once(request, 'response');
  assert.ok(response);
  let plants = 0;
  let peak = 0;
  let nextStop = 0;
  for await (const chunk of response) {
    plants += objectsIn(chunk);
    if (plants < nextStop) continue;
    nextStop += PLANTS / STOPS;
    await pause(STOP_MS);
    peak = Math.max(peak, residentBytes(server.pid));
  }
  return { plants, peak };
}

/** Names and tags here contain no braces. */
function objectsIn(json: Buffer): number {
  let count = 0;
  for (let at = json.indexOf('{'); at >= 0; at = json.indexOf('{', at + 1)) count++;
  return count;
}
