import { type IncomingMessage, METHODS, type Server, type ServerResponse } from 'node:http';
import { AppError, errorBody } from '../../errors.ts';
import type { Measures } from '../../observability/port.ts';
import { type Connection, closeAfterAnswers, noteRequest } from './closing.ts';
import { overloaded, type Turns } from './turn.ts';

/**
 * Whether the request asks about the health of the service. It is answered whatever else waits: who asks decides whether
 * the service lives, or gets requests at all.
 */
export function asksHealth({ url }: Pick<IncomingMessage, 'url'>): boolean {
  return url === '/healthz' || url === '/readyz';
}

export type Door = {
  turns: Turns;
  /** Whether a write would be refused. */
  writesAreFull(): boolean;
  isDraining(): boolean;
  measures?: Pick<Measures, 'refused'> | undefined;
};

/**
 * Refuses requests while the service is overloaded, before anything of them but the header fields is read. That costs
 * less than the shortest way through routing, hooks and error handling.
 */
export function refuseAtTheDoor(server: Server, { turns, writesAreFull, isDraining, measures }: Door): void {
  const [comeIn, ...others] = server.listeners('request');
  if (comeIn === undefined || others.length > 0) throw new Error('The server has not exactly one listener');
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    noteRequest(request, response);
    if (!isHttp(request)) {
      closeAfterAnswers(request.socket);
      measured(request, measures, notHttp)(response);
      return;
    }
    const isAdmitted = turns.admits() && !(isWrite(request) && writesAreFull());
    // Draining has a refusal of its own.
    if (isAdmitted || asksHealth(request) || isDraining()) comeIn.call(server, request, response);
    else {
      const refuse = measured(request, measures, overload);
      turns.holdRefusal(() => refuse(response));
    }
  });
}

function measured({ method }: IncomingMessage, measures: Door['measures'], { code, send }: Refusal) {
  if (!measures) return send;
  const begin = performance.now();
  return (response: ServerResponse): void => {
    send(response);
    measures.refused(code, { method, durationMs: performance.now() - begin });
  };
}

function isWrite({ method = '' }: IncomingMessage): boolean {
  return method === 'POST' || method === 'PATCH' || method === 'DELETE';
}

/**
 * Node's parser accepts RTSP and ICE as HTTP, and a line without a version as HTTP/0.9. What it accepted shows in methods
 * that HTTP lacks, and in the request line if that arrived in one piece with the header fields. To look at the line
 * takes a microsecond, so requests of HTTP/1.1 are spared.
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

const HTTP_METHODS = new Set(METHODS);

/** What is written of a refusal, made once. */
type Refusal = { code: AppError['code']; send(response: ServerResponse): void };

function refusal({ status, headers, code, message }: AppError): Refusal {
  const body = errorBody(code, message);
  const fields = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  };
  return { code, send: (response) => void response.writeHead(status, fields).end(body) };
}

const overload = refusal(overloaded());
const notHttp = refusal(new AppError(40000, 'The request line cannot be read as HTTP/1.1.'));
