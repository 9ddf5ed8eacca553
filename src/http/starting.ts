import { once } from 'node:events';
import { Server as NetServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { errorAnswer, retryLater } from '../errors.ts';
import { http as limits } from '../limits.ts';
import { finishAnswersFirst } from './admission/connection.ts';
import { nodeHttp } from './node-http.ts';
import { answerUnreadable } from './observe/socket-failures.ts';
import { ALIVE } from './pages/pages-routes.ts';
import { acceptExpectations } from './request/body.ts';

const STARTING = errorAnswer(
  retryLater(50302, 'The service is starting, and its store is not open yet; nothing was done.'),
);
const FIELDS = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(ALIVE) };

/**
 * Listens while the store is opened and migrated, which can take minutes: a health check finds that the process lives,
 * and everything else is refused.
 * @returns frees the port; the requests on open connections are still answered
 * @throws Error of the system when the service cannot listen there
 */
export async function answerWhileStarting(place: {
  port: number;
  host: string;
}): Promise<() => Promise<void>> {
  // As once it has started: Node would refuse half as many header fields, and an expectation without a body.
  const settings = { requireHostHeader: false, maxHeaderSize: limits.headerBytes };
  const server = nodeHttp.createServer(settings, ({ url }, response) => {
    response.shouldKeepAlive = false;
    if (url === '/healthz') response.writeHead(200, FIELDS).end(ALIVE);
    else response.writeHead(STARTING.status, STARTING.fields).end(STARTING.body);
  });
  let accepted = 0;
  server.on('connection', () => accepted++);
  acceptExpectations(server);
  answerUnreadable(server);
  finishAnswersFirst(server, new AbortController().signal);
  server.setTimeout(limits.headersMs);
  server.listen(place);
  await once(server, 'listening');
  return async () => {
    // The system opened connections while the embedded store kept this thread busy; one is accepted per turn.
    for (let seen = -1; seen < accepted && accepted < limits.connections; ) {
      seen = accepted;
      await turn();
    }
    // The `close` of an HTTP server would reset those whose request it has not read yet.
    NetServer.prototype.close.call(server);
  };
}
