import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { http as limits } from '../../limits.ts';

/** Any charset other than UTF-8 is refused; many clients write `utf8`. */
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-?8|"utf-?8")[ \t]*)?;?$/i;

/**
 * Accepts bodies of limited size that claim to be JSON in UTF-8, and refuses all others. The validator reads the JSON,
 * after the Idempotency-Key is checked: what is not JSON may be a repeat, or use the key of another request.
 */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (request, payload, done) => {
    const type = request.headers['content-type'];
    if (type === 'application/json' || JSON_TYPE.test(type ?? '')) readBody(request, payload, done);
    else done(notJson());
  });
}

/** A request without a body has no type, although many clients name one. */
export function dropTypeOfNothing({ headers }: IncomingMessage): void {
  if (headers['content-type'] === undefined || headers['transfer-encoding'] !== undefined) return;
  if ((headers['content-length'] ?? '0') === '0') delete headers['content-type'];
}

export function notJson(): AppError {
  return new AppError(41500, 'Send the body as Content-Type: application/json, in UTF-8.');
}

function tooLarge(): AppError {
  return new AppError(41300, `The body is larger than ${limits.bodyBytes} bytes.`);
}

/** Bodies that will not be completed. */
const broken = new WeakMap<IncomingMessage, AppError>();

/** Makes reading this body fail, now or once it begins. A request answered without its body is not affected. */
export function breakBody(request: IncomingMessage, failure: AppError): void {
  broken.set(request, failure);
  if (request.listenerCount('error') > 0) request.emit('error', failure);
}

type Done = (error: Error | null, bytes?: Buffer) => void;

/** Reads a body and checks its size before and while it arrives. Calls back once, without bytes for an empty body. */
function readBody(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
  const isTooLarge = Number(request.headers['content-length']) > limits.bodyBytes;
  const refusal = isTooLarge ? tooLarge() : broken.get(payload);
  if (refusal) {
    done(refusal);
    return;
  }
  askForBody(payload);
  const chunks: Buffer[] = [];
  let size = 0;
  let isOver = false;
  const finish: Done = (error, bytes) => {
    if (isOver) return;
    isOver = true;
    done(error, bytes);
  };
  payload.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > limits.bodyBytes) finish(tooLarge());
    else chunks.push(chunk);
  });
  payload.on('end', () => finish(null, chunks.length > 1 ? Buffer.concat(chunks) : chunks[0]));
  payload.on('error', finish);
}

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

/** Requests the body just before it is read, so that the body of a refused request need not be sent. */
function askForBody(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}

/**
 * Makes the reply's payload JSON text. Fastify would add a charset, which application/json does not have (RFC 8259
 * §11).
 */
export function answerJson<Reply extends Pick<FastifyReply, 'header' | 'serializer'>>(reply: Reply): Reply {
  reply.header('content-type', 'application/json').serializer(String);
  return reply;
}
