import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { finishAnswersFirst, HttpRequest, noteRequest } from '../../src/http/closing.ts';
import { answerParserFailure } from '../../src/http/socket-failures.ts';
import { failed } from '../harness/answer.ts';
import { openRaw } from '../harness/raw-client.ts';
import { head } from '../harness/raw-request.ts';

/** A server that waits for the rest of a request for less long than the service. */
async function impatient(t: TestContext, answer: (response: ServerResponse) => void) {
  const server = createServer({
    IncomingMessage: HttpRequest,
    headersTimeout: 200,
    requestTimeout: 200,
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
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  return { server, connection: await openRaw(port) };
}

const POST = head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 5');

test('a body that never arrives after its request was answered has no second answer', async (t) => {
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
