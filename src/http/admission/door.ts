import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { AppError, errorAnswer } from '../../errors.ts';
import type { Measures } from '../../observability/port.ts';
import { nodeHttp } from '../node-http.ts';
import { type Connection, closeAfterAnswers, noteRequest } from './connection.ts';
import { overloaded, type Turns } from './turn.ts';

/**
 * Whether this is a health check. Health checks are always answered, whatever the load: they decide whether the
 * service keeps running and receives traffic.
 */
export function asksHealth({ url }: Pick<IncomingMessage, 'url'>): boolean {
  return url === '/healthz' || url === '/readyz';
}

type DoorParts = {
  turns: Turns;
  /** Whether a write would be refused now. */
  writesAreFull(): boolean;
  isDraining(): boolean;
  measures?: Pick<Measures, 'refused'> | undefined;
};

/**
 * Refuses requests while the service is overloaded, before it reads more than their header fields. This is cheaper
 * than the shortest path through routing, hooks and error handling.
 */
export function refuseAtTheDoor(
  server: Server,
  { turns, writesAreFull, isDraining, measures }: DoorParts,
): void {
  const [comeIn, ...others] = server.listeners('request');
  if (comeIn === undefined || others.length > 0)
    throw new Error('The server must have exactly one request listener');
  server.removeAllListeners('request');

  function refuse(response: ServerResponse, { code, status, fields, body }: Refusal, begin: number): void {
    response.writeHead(status, fields).end(body);
    measures?.refused(code, { method: response.req.method, durationMs: performance.now() - begin });
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    noteRequest(request, response);
    if (!isHttp(request)) {
      closeAfterAnswers(request.socket);
      refuse(response, NOT_HTTP, performance.now());
      return;
    }
    const isAdmitted = turns.admits() && !(isWrite(request) && writesAreFull());
    // Draining has its own refusal.
    if (isAdmitted || asksHealth(request) || isDraining()) comeIn.call(server, request, response);
    else {
      const begin = performance.now();
      turns.holdRefusal(() => refuse(response, OVERLOAD, begin));
    }
  });
}

function isWrite({ method = '' }: IncomingMessage): boolean {
  return method === 'POST' || method === 'PATCH' || method === 'DELETE';
}

/**
 * Node's parser accepts RTSP and ICE as HTTP, and a line without a version as HTTP/0.9. They can be recognised by
 * methods that HTTP lacks, and by the request line if it arrived in one piece with the header fields. Checking the
 * line takes a microsecond, so HTTP/1.1 requests skip it.
 */
function isHttp({ method = '', url, httpVersion, socket }: IncomingMessage): boolean {
  if (!HTTP_METHODS.has(method)) return false;
  if (httpVersion === '1.1') return true;
  const { parser }: Connection = socket;
  const line = `${method} ${url} `;
  const received = parser?.getCurrentBuffer().toString('latin1') ?? '';
  if (httpVersion === '0.9') return received.includes(`${line}HTTP/`);
  return !received.includes(`${line}RTSP/`) && !received.includes(`${line}ICE/`);
}

const HTTP_METHODS = new Set(nodeHttp.METHODS);

type Refusal = ReturnType<typeof errorAnswer>;
const OVERLOAD = errorAnswer(overloaded());
const NOT_HTTP = errorAnswer(new AppError(40000, 'The request line cannot be read as HTTP/1.1.'));
