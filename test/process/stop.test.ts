import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { processes } from '../../src/limits.ts';
import { makePlace } from '../../testkit/processes/place.ts';
import { manyPlants } from '../../testkit/processes/plants.ts';
import { outcomeOf, untilGreeted } from '../../testkit/processes/program.ts';
import { type Server, TOKEN } from '../../testkit/processes/server.ts';
import { killGroup } from '../../testkit/processes/shell.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { failed, succeeded } from '../../testkit/service/answer.ts';
import { failureToConnect, openRaw } from '../../testkit/sockets/raw-client.ts';
import { head } from '../../testkit/sockets/raw-request.ts';

const FIELDS = ['Host: localhost', `Authorization: Bearer ${TOKEN}`];
const PLANT = '{"name":"Alder"}';
/** Their list takes 22 MB, more than the buffers of a connection. */
const MANY = 40_000;

test('SIGUSR1, which programs that rotate logs send, does not open the debugger', async (t) => {
  const place = await makePlace(t);
  const server = await place.serve();
  server.signal('SIGUSR1');
  for (let n = 0; n < 3; n++)
    succeeded(await server.request('POST', '/plants', { body: { name: 'Alder' } }), 201);
  const { code, stderr } = await server.stop();
  assert.equal(code, 0);
  assert.equal(stderr, server.greeting);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} finishes pending requests, refuses new ones, records deliveries and exits with 0`, async (t) => {
    const place = await makePlace(t);
    await place.prepare();
    place.write(manyPlants(MANY));
    const server = await place.serve({ env: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } });

    const delivering = await startDelivery(t, server);
    const list = await startList(server);
    const create = await startCreate(t, server);
    const kept = await keepConnection(t, server);
    const idle = await openRaw(server.port);
    server.signal(signal);
    assert.equal(await idle.ended(), 'closed');

    await kept.send(`${FIELDS.join('\r\n')}\r\n\r\n`);
    const refused = await kept.answer();
    failed(refused, 50303);
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.equal(refused.headers.get('connection'), 'close');
    assert.equal(await failureToConnect(server.port), 'ECONNREFUSED');
    delivering.writeHead(204).end();

    await create.send(PLANT.slice(5));
    succeeded(await create.answer(), 201);
    const plants = await json(list);
    assert.ok(Array.isArray(plants));
    assert.ok(plants.length >= MANY);

    const { code } = await server.ended;
    assert.equal(code, 0);
    assert.deepEqual(place.read(`SELECT count(*) AS n FROM plants WHERE name IN ('Alder', 'Birch')`), [
      { n: 2n },
    ]);
    const deliveries = place.read('SELECT name, state, attempts FROM deliveries JOIN events ON event = id');
    assert.deepEqual(
      deliveries.find(({ name }) => name === 'Birch'),
      { name: 'Birch', state: 'delivered', attempts: 1n },
    );
  });
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} again ends a draining service at once, and keeps what it acknowledged`, async (t) => {
    const place = await makePlace(t);
    const server = await place.serve();
    succeeded(await server.request('POST', '/plants', { body: { name: 'Birch' } }), 201);
    await startCreate(t, server);
    const idle = await openRaw(server.port);
    server.signal(signal);
    await idle.ended();
    // Earlier signals count as one; only time tells when that ends.
    await pause(2 * processes.signalEchoMs);
    server.signal(signal);
    assert.equal((await server.ended).signal, signal);
    assert.deepEqual(place.read('SELECT name FROM plants'), [{ name: 'Birch' }]);
  });
}

for (const command of ['npm start', 'npx plant-store serve']) {
  test(`"${command}" leaves no service behind when a supervisor sends SIGTERM to npm alone`, async (t) => {
    const { folder, dataDir } = await makePlace(t);
    const env = { PATH: process.env.PATH, HOME: folder, DATA_DIR: dataDir, PORT: '0' };
    const [program = '', ...args] = command.split(' ');
    const child = spawn(program, args, {
      cwd: join(import.meta.dirname, '..', '..'),
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.after(() => killGroup(child.pid, 'SIGKILL'));
    const ended = outcomeOf(child);
    await untilGreeted(child, ended);
    child.kill('SIGTERM');
    // The output ends when every process that writes to it has ended.
    assert.match((await ended).stdout, /"signal":"SIGTERM","msg":"stopped"/);
  });
}

/** A delivery that has arrived and waits for its answer. */
async function startDelivery(t: TestContext, server: Server): Promise<ServerResponse> {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const arrived = Promise.withResolvers<ServerResponse>();
  receiver.script((_request, response) => arrived.resolve(response));
  succeeded(await server.request('POST', '/webhooks', { body: { url: receiver.url } }), 201);
  succeeded(await server.request('POST', '/plants', { body: { name: 'Birch' } }), 201);
  return arrived.promise;
}

/** A list whose first bytes have arrived and that nobody reads. */
async function startList({ url }: Server): Promise<IncomingMessage> {
  const request = get(`${url}/plants`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const [response]: IncomingMessage[] = await once(request, 'response');
  assert.ok(response);
  return response;
}

/** A create that the service is reading, without the end of its body. */
async function startCreate(t: TestContext, server: Server) {
  const connection = await openRaw(server.port);
  t.after(connection.close);
  const body = ['Content-Type: application/json', `Content-Length: ${PLANT.length}`, 'Expect: 100-continue'];
  await connection.send(head('POST /plants HTTP/1.1', ...FIELDS, ...body));
  assert.equal((await connection.answer()).status, 100);
  // Once this one is answered, earlier requests are being handled.
  await server.request('GET', '/healthz');
  await connection.send(PLANT.slice(0, 5));
  return connection;
}

/** A used connection, with the first line of its next request. */
async function keepConnection(t: TestContext, server: Server) {
  const connection = await openRaw(server.port);
  t.after(connection.close);
  await connection.send(head('GET /plants?limit=1 HTTP/1.1', ...FIELDS));
  succeeded(await connection.answer(), 200);
  await connection.send('GET /plants HTTP/1.1\r\n');
  return connection;
}
