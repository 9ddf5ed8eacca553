import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** Requests whose client waits for 100 Continue before it sends the body (RFC 9110 §10.1.1). */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Treats requests with an expectation like all others; Node would answer some of them itself. */
export function acceptExpectations(server: Server): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.set(request, response);
    server.emit('request', request, response);
  });
}

export function waitsForContinue(request: IncomingMessage): boolean {
  return waiting.has(request);
}

/** Asks for the body, when it is about to be read: what is refused before need not be sent. */
export function askForBody(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}
