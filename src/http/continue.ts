import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests whose client waits for 100 Continue before it sends the body (RFC 9110 §10.1.1). */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

export function waitsForContinue(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response);
}

/** Asks for the body, when it is about to be read: what is refused before need not be sent. */
export function askForBody(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
}
