import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { AppError } from '../errors.ts';
import { http as limits } from '../limits.ts';
import { malformed } from './authorization.ts';

/** Header fields that may be given once only, each with a bit: Node keeps the first or joins them. */
const SINGLE = new Map(
  [
    'authorization',
    'content-encoding',
    'content-length',
    'content-type',
    'expect',
    'host',
    'idempotency-key',
    'transfer-encoding',
  ].map((name, i) => [name, 1 << i]),
);

/** Methods whose body means nothing here. */
export const BODYLESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/** Refuses what Node's parser lets through although it cannot be answered safely. */
export function requestGuard(drain: AbortSignal) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const problem = drain.aborted && request.url !== '/healthz' ? shuttingDown() : problemOf(request.raw);
    if (!problem && BODYLESS.has(request.method) && announcesBody(request.raw)) {
      // The body means nothing and is not read; the connection cannot be used after it.
      reply.header('connection', 'close');
    }
    done(problem);
  };
}

function shuttingDown(): AppError {
  return new AppError(50303, 'The service is shutting down; nothing was done. Retry in a moment.', {
    headers: { 'retry-after': String(limits.retryAfterSeconds), connection: 'close' },
  });
}

function problemOf(request: IncomingMessage): AppError | undefined {
  const { headers, rawHeaders, url = '', httpVersionMajor } = request;
  if (httpVersionMajor !== 1) {
    return new AppError(50500, `HTTP ${request.httpVersion} is not spoken here; use HTTP/1.1.`);
  }
  if (url.length > limits.urlBytes) return urlTooLong();
  return (
    repeatedHeader(rawHeaders) ??
    (headers.host === undefined && request.httpVersion === '1.1'
      ? new AppError(40000, 'The header Host is missing.')
      : undefined) ??
    transferCoding(request) ??
    contentCoding(headers['content-encoding'])
  );
}

export function urlTooLong(): AppError {
  return new AppError(41400, `The URL is longer than ${limits.urlBytes} bytes.`);
}

function repeatedHeader(rawHeaders: string[]): AppError | undefined {
  let seen = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    const bit = SINGLE.get(name) ?? 0;
    if (seen & bit) return repeated(name);
    seen |= bit;
  }
  return undefined;
}

function repeated(name: string): AppError {
  if (name === 'authorization') return malformed('it is given more than once');
  const code = name === 'idempotency-key' ? 40006 : 40000;
  return new AppError(code, `The header ${name} is given more than once.`);
}

/** RFC 9112 §6.1: chunked is the only coding, and HTTP/1.0 has none. */
function transferCoding({ headers, httpVersion }: IncomingMessage): AppError | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion === '1.0') return new AppError(40000, 'HTTP/1.0 has no Transfer-Encoding.');
  if (coding.toLowerCase() === 'chunked') return undefined;
  return new AppError(50100, 'The only transfer-coding that is supported is chunked.');
}

function contentCoding(coding: string | undefined): AppError | undefined {
  if (coding === undefined || coding.toLowerCase() === 'identity') return undefined;
  return new AppError(41501, 'Send the body as it is, without Content-Encoding.', {
    headers: { 'accept-encoding': 'identity' },
  });
}

function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}
