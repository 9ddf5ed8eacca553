import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { errorBody } from '../errors.ts';
import type { Measures } from '../measures.ts';
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
    const isAdmitted = turns.admits() && !(isWrite(request) && writesAreFull());
    // Draining has a refusal of its own.
    if (isAdmitted || asksHealth(request) || isDraining()) comeIn.call(server, request, response);
    else if (measures) turns.holdRefusal(measured(request, measures, () => refuse(response)));
    else turns.holdRefusal(() => refuse(response));
  });
}

function measured(
  { method }: IncomingMessage,
  measures: Pick<Measures, 'refused'>,
  refuse: () => void,
): () => void {
  const begin = performance.now();
  return () => {
    refuse();
    measures.refused(code, { method, durationMs: performance.now() - begin });
  };
}

function isWrite({ method = '' }: IncomingMessage): boolean {
  return method === 'POST' || method === 'PATCH' || method === 'DELETE';
}

const { status, headers, code, message } = overloaded();
const body = errorBody(code, message);
const fields = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers };

function refuse(response: ServerResponse): void {
  response.writeHead(status, fields).end(body);
}
