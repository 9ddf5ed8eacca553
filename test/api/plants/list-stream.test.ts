import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { storePath } from '../../../src/config/config.ts';
import { list as limits } from '../../../src/limits.ts';
import { listPlants, type NextPart } from '../../../src/plants/list.ts';
import { foldName } from '../../../src/plants/plant.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { scrape } from '../../../testkit/service/scrape.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';
import { head } from '../../../testkit/sockets/raw-request.ts';

// All connections share one address, which may have more of them than an untrusted client.
const service = await startService({ METRICS_PORT: '0', TRUST_PROXY: '127.0.0.0/8' });
after(() => service.stop());

/** So long that a list does not fit into the buffers between server and client. */
const LONG_NAME = '🌱'.repeat(255);

/** Gives a new user the plants 10, 20, 30, … and returns the user's token. Written by SQL, since creates take long. */
async function planted(user: string, count: number, name = LONG_NAME, at = service): Promise<string> {
  const token = await at.tokenFor(user);
  const db = new DatabaseSync(storePath(at.dataDir), { timeout: 5000 });
  db.prepare(
    `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
     INSERT INTO plants (owner, id, name, folded, created_at)
     SELECT users.id, 10 * n, ?, ?, 0 FROM number, users WHERE users.name = ?`,
  ).run(count, name, foldName(name), user);
  db.close();
  return token;
}

/** An answer whose head has arrived and whose body is unread. */
async function beginReading(path: string, token: string, at: Service = service): Promise<IncomingMessage> {
  const request = get(at.url + path, { headers: { authorization: `Bearer ${token}` }, agent: false });
  const [response]: IncomingMessage[] = await once(request, 'response');
  // Both request and response report a reset; the tests check the response.
  request.on('error', () => {});
  assert.ok(response !== undefined);
  return response;
}

/** The services of this process answer with these, by the port of the client. */
const answers = new Map<number | undefined, ServerResponse>();
subscribe('http.server.request.start', (message) => {
  // Node passes the socket and the response, among others.
  const { socket, response } = message as { socket: Socket; response: ServerResponse };
  answers.set(socket.remotePort, response);
});

/** The system passes on what it has in fewer turns of the event loop. */
const TURNS = 50;

/** Waits until the service waits and nothing more arrives, because the buffers on the way are full. */
async function untilStalled({ socket }: IncomingMessage): Promise<number> {
  let arrived = socket.bytesRead;
  for (let turns = 0; turns < TURNS; turns++) {
    await turn();
    const isStalled = socket.bytesRead === arrived && answers.get(socket.localPort)?.writableLength;
    if (!isStalled) turns = 0;
    arrived = socket.bytesRead;
  }
  return arrived;
}

/** The size of a list of 40 MB of JSON. No test changes its plants. */
const LONG = 40_000;
const long = planted('long', LONG);

const idsOf = (json: string) => JSON.parse(json).map(({ id }: { id: number }) => id);
const tens = (count: number) => Array.from({ length: count }, (_, index) => (index + 1) * 10);

test('a list without a limit has every plant, in order, however many there are', async () => {
  const token = await planted('many', 2503, 'Alder');
  const answer = await service.request('GET', '/plants?fields=id', { token });
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.deepEqual(idsOf(answer.text), tens(2503));
  assert.equal(answer.headers.get('link'), null);
});

test('long pages follow each other without gaps or duplicates', async () => {
  const token = await planted('long-pages', 2503, 'Alder');
  const ids: number[] = [];
  const sizes: number[] = [];
  for (let path: string | undefined = '/plants?fields=id&limit=999'; path !== undefined; ) {
    const answer = await service.request('GET', path, { token });
    const page = idsOf(JSON.stringify(succeeded(answer, 200)));
    ids.push(...page);
    sizes.push(page.length);
    path = /^<(.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  assert.deepEqual(sizes, [999, 999, 505]);
  assert.deepEqual(ids, tens(2503));
});

test('changes during a list neither tear it nor duplicate a plant', async () => {
  const count = 12_000;
  const token = await planted('changing', count);
  const response = await beginReading('/plants?fields=id,name', token);
  await untilStalled(response);
  const removed = [10, 20, 80_000, 119_990];
  for (const id of removed) succeeded(await service.request('DELETE', `/plants/${id}`, { token }), 204);
  for (const id of [5, 15, 80_001, 300_000]) {
    succeeded(await service.request('POST', '/plants', { body: { id, name: 'New' }, token }), 201);
  }

  const ids: number[] = idsOf(await text(response));
  assert.deepEqual(
    ids,
    [...new Set(ids)].sort((a, b) => a - b),
  );
  const listed = new Set(ids);
  for (const id of tens(count)) assert.ok(listed.has(id) || removed.includes(id), `${id} is missing`);
});

test('a page with a limit never has more plants, even when some are added while it is read', async () => {
  const token = await planted('limited', 12_000);
  const response = await beginReading('/plants?fields=id,name&limit=11000', token);
  await untilStalled(response);
  for (const id of [109_991, 109_992]) {
    succeeded(await service.request('POST', '/plants', { body: { id, name: 'New' }, token }), 201);
  }
  try {
    const ids: number[] = idsOf(await text(response));
    assert.ok(ids.length <= 11_000);
  } catch (error) {
    // Either a correct answer or a reset, never a page that only looks complete.
    assert.ok(error instanceof Error && 'code' in error);
    assert.equal(error.code, 'ECONNRESET');
  }
});

test('a reader that stops reading costs the server bounded memory, and gets everything when it resumes', async () => {
  const token = await long;
  const before = process.memoryUsage().rss;
  const response = await beginReading('/plants', token);
  const arrived = await untilStalled(response);
  const growth = process.memoryUsage().rss - before;
  assert.ok(arrived < 32 * 2 ** 20, `${arrived} bytes were sent to a reader that does not read`);
  assert.ok(growth < 48 * 2 ** 20, `the process grew by ${growth} bytes`);

  // Others are still served.
  succeeded(await service.request('GET', '/plants?limit=1', { token }), 200);
  let plants = 0;
  for await (const chunk of response) {
    for (const byte of chunk) if (byte === 0x7b) plants++;
  }
  assert.equal(plants, LONG);
  assert.ok(response.complete);
});

test('clients that disconnect in the middle of a list do not harm the service', async () => {
  const token = await long;
  const responses = await Promise.all(Array.from({ length: 20 }, () => beginReading('/plants', token)));
  const closed = responses.map((response) => once(response, 'close'));
  for (const response of responses) response.destroy();
  await Promise.all(closed);
  succeeded(await service.request('GET', '/plants?limit=1', { token }), 200);
});

test('HEAD of a long list answers at once, and the connection stays usable', async () => {
  const token = await long;
  for (let i = 0; i < 5; i++) {
    const answer = await service.request('HEAD', '/plants', { token });
    assert.equal(answer.status, 200);
    assert.equal(answer.text, '');
  }
});

const AT_ONCE = 8;

/** Requests lists that nobody reads, a few at a time: all at once would be an overload. */
async function askForLists(token: string, count: number): Promise<Socket[]> {
  const request = head('GET /plants HTTP/1.1', 'Host: local', `Authorization: Bearer ${token}`);
  const sockets: Socket[] = [];
  while (sockets.length <= count) {
    const few = Array.from({ length: AT_ONCE }, () => connect({ port: service.port, host: '127.0.0.1' }));
    sockets.push(...few);
    await Promise.all(
      few.map((socket) => {
        socket.on('error', () => {}).write(request);
        return once(socket, 'readable');
      }),
    );
  }
  return sockets;
}

async function listsReset(): Promise<number> {
  const metrics = await scrape(service.metricsUrl ?? '');
  return metrics.value('plant_store_http_lists_reset_total') ?? 0;
}

/** Resolves with how many more lists were reset. */
async function someReset(before: number): Promise<number> {
  const reset = async () => ((await listsReset()) > before ? true : undefined);
  await eventually('list that is reset', reset);
  return (await listsReset()) - before;
}

test('beyond the limit per token and in all, the list that has waited longest for its reader is reset, and others arrive complete', async (t) => {
  // The system takes 2.5 MB of each list. The benchmark `stalled-readers` reaches the limits of the service.
  const bounds: { readersPerToken: number; readers: number } = limits;
  t.mock.property(bounds, 'readersPerToken', 40);
  t.mock.property(bounds, 'readers', 60);
  const token = await long;
  const before = await listsReset();
  const slowest = await beginReading('/plants', token);
  await untilStalled(slowest);
  const sockets = await askForLists(token, limits.readersPerToken);
  const page = await service.request('GET', '/plants?fields=id&limit=500', { token });
  assert.deepEqual(idsOf(page.text), tens(500));
  const lost = await someReset(before);
  assert.ok(lost < sockets.length / 2, `${lost} were reset`);
  await assert.rejects(text(slowest), { code: 'ECONNRESET' });

  const ofToken = await listsReset();
  const others = await askForLists(await service.tokenFor('long'), limits.readers - limits.readersPerToken);
  const healthy = await planted('healthy', 2503, 'Alder');
  const answer = await service.request('GET', '/plants?fields=id', { token: healthy });
  assert.deepEqual(idsOf(answer.text), tens(2503));
  await someReset(ofToken);
  for (const socket of [...sockets, ...others]) socket.destroy();
});

async function partsOf(next: NextPart): Promise<string[]> {
  const { text: part, isLast } = await next();
  return isLast ? [part] : [part, ...(await partsOf(next))];
}

test('no part of a list is larger than its bound, whatever the sizes of plants', async () => {
  const small = 1200;
  const large = 400;
  await planted('uneven', small, 'A');
  await service.beside(async ({ store, runtime }) => {
    const owner = (await store.access.users()).find(({ name }) => name === 'uneven')?.id ?? 0;
    for (let i = 1; i <= large; i++) {
      const plant = { owner, name: LONG_NAME, tag: LONG_NAME, at: runtime.clock.now() };
      await store.plants.create({ ...plant, id: BigInt(100_000 + i), event: runtime.ids.next('evt') });
    }
    for (const limit of [undefined, small + large, limits.firstPlants]) {
      const from = limit === limits.firstPlants ? { owner, id: 100_001n } : undefined;
      const { json } = await listPlants(store.plants, { viewer: owner, from, limit, fields: ['name'] });
      assert.ok(typeof json !== 'string');
      const parts = await partsOf(json);
      for (const part of parts) assert.ok(Buffer.byteLength(part) <= limits.partBytes);
      assert.equal(JSON.parse(parts.join('')).length, limit ?? small + large);
    }
  });
});

test('a list is reset when the store fails in the middle of it', async () => {
  const broken = await startService();
  try {
    const token = await planted('torn', 12_000, LONG_NAME, broken);
    const response = await beginReading('/plants', token, broken);
    await untilStalled(response);
    // The service may hold the write lock.
    const db = new DatabaseSync(storePath(broken.dataDir), { timeout: 5000 });
    db.exec('ALTER TABLE plants RENAME TO elsewhere');
    await assert.rejects(text(response), { code: 'ECONNRESET' });
    assert.equal(response.complete, false);

    const answer = await broken.request('GET', '/plants', { token });
    const { error } = JSON.parse(answer.text);
    failed(answer, error === 50302 ? 50302 : 50000);
    db.exec('ALTER TABLE elsewhere RENAME TO plants');
    db.close();
    succeeded(await broken.request('GET', '/plants?limit=1', { token }), 200);
  } finally {
    await broken.stop();
  }
});
