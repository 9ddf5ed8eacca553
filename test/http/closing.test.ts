import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { finishAnswersFirst, keepUnsentAnswers, noteRequest } from '../../src/http/admission/connection.ts';
import { HttpRequest } from '../../src/http/admission/http-request.ts';
import { answerParserFailure } from '../../src/http/observe/socket-failures.ts';
import { failed } from '../../testkit/service/answer.ts';
import { openRaw } from '../../testkit/sockets/raw-client.ts';
import { head } from '../../testkit/sockets/raw-request.ts';

/** A server with a shorter request timeout than the service. */
async function impatient(t: TestContext, answer: (response: ServerResponse) => void) {
  const server = createServer({
    IncomingMessage: HttpRequest,
    headersTimeout: 1_000,
    requestTimeout: 1_000,
    connectionsCheckingInterval: 20,
  });
  finishAnswersFirst(server, new AbortController().signal);
  server.on('request', (request, response) => {
    noteRequest(request, response);
    answer(response);
  });
  server.on('clientError', (error: Error & { code: string; rawPacket: unknown }, socket) => {
    // As over TCP.
    answerParserFailure(error, socket as Socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  // A server that listens on TCP has this kind of address.
  const { port } = server.address() as AddressInfo;
  return { server, connection: await openRaw(port) };
}

const POST = head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 5');

test('a body that never arrives after its request was answered gets no second answer', async (t) => {
  const { connection } = await impatient(t, (response) => response.writeHead(404).end('none'));
  await connection.send(`${POST}hello${POST}`);
  for (let n = 0; n < 2; n++) assert.equal((await connection.answer()).status, 404);
  assert.equal(await connection.ended(), 'closed');
  connection.close();
});

test('a request that does not arrive in time is answered after the one before it', async (t) => {
  const held: ServerResponse[] = [];
  const { server, connection } = await impatient(t, (response) => void held.push(response));
  await connection.send(`${POST}helloPOST /`);
  await once(server, 'clientError');
  held[0]?.writeHead(404).end('none');
  assert.equal((await connection.answer()).status, 404);
  failed(await connection.answer(), 40800);
  assert.equal(await connection.ended(), 'closed');
  connection.close();
});

test('an answer cut short by the end of the drain does not look complete, and a complete one does', async (t) => {
  const server = createServer((request, response) => {
    if (request.url === '/list') response.write('[{"name":"Alder"},');
    else response.end('[]');
  });
  finishAnswersFirst(server, new AbortController().signal);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  // A server that listens on TCP has this kind of address.
  const { port } = server.address() as AddressInfo;
  const [torn, resting] = [await openRaw(port), await openRaw(port)];
  await resting.send(head('GET / HTTP/1.1', 'Host: x'));
  assert.equal((await resting.answer()).text, '[]');
  // Only the end of the connection ends this answer.
  await torn.send(head('GET /list HTTP/1.0'));
  await once(server, 'request');
  const cut = assert.rejects(torn.answer(), /was reset before an answer/);
  server.closeAllConnections();
  assert.equal(await resting.ended(), 'closed');
  await cut;
  for (const connection of [torn, resting]) connection.close();
});

/** More than the system buffers of an unread answer. */
const LONG = Buffer.alloc(32 * 1024 * 1024, 'x');

/** A server with an idle connection and one whose client has not read its long answer. */
async function unsentAnswer(t: TestContext) {
  const server = createServer((request, response) => void response.end(request.url === '/long' ? LONG : ''));
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => connections.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on TCP has this kind of address.
  const { port } = server.address() as AddressInfo;
  const resting = await openRaw(port);
  t.after(() => {
    resting.close();
    server.close();
  });
  await resting.send(head('GET / HTTP/1.1', 'Host: x'));
  await resting.answer();
  const reading = connect(port, '127.0.0.1');
  reading.write(head('GET /long HTTP/1.1', 'Host: x', 'Connection: close'));
  await once(reading, 'readable');
  return { server, connections, resting, reading };
}

/** Node versions on which these tests passed: they test behaviour outside the public API. */
const SEEN = [26];
const [version] = process.versions.node.split('.');

test(`Node ${version} is known to close idle connections as expected`, () => {
  assert.ok(SEEN.includes(Number(version)));
  assert.equal(manifest.engines.node, `>=${Math.min(...SEEN)}`);
});

test(`Node ${version} itself closes connections whose answer has not been sent`, async (t) => {
  const { server, resting, reading } = await unsentAnswer(t);
  server.closeIdleConnections();
  assert.equal(await resting.ended(), 'closed');
  const received = await buffer(reading).catch(() => Buffer.alloc(0));
  assert.ok(received.length < LONG.length, 'it no longer does: keepUnsentAnswers can go');
});

test(`on Node ${version} an unsent answer arrives complete, and idle connections are closed`, async (t) => {
  const { server, connections, resting, reading } = await unsentAnswer(t);
  keepUnsentAnswers(server, connections);
  server.closeIdleConnections();
  assert.equal(await resting.ended(), 'closed');
  const received = (await buffer(reading)).toString('latin1');
  assert.equal(received.length - received.indexOf('\r\n\r\n') - 4, LONG.length);
});
