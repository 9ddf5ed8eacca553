import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { AppError, retryLater } from '../../errors.ts';
import { http as limits } from '../../limits.ts';
import { malformed } from './authorization.ts';
import { dropTypeOfNothing } from './body.ts';

/** Header fields that may appear only once, each with a bit: Node keeps the first or joins them. */
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

/** Refuses requests that Node's parser accepts although they cannot be answered safely, and mends harmless ones. */
export function requestGuard(drain: AbortSignal) {
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    dropTypeOfNothing(request.raw);
    done(drain.aborted && request.url !== '/healthz' ? shuttingDown() : problemOf(request));
  };
}

function shuttingDown(): AppError {
  return retryLater(50303, 'The service is shutting down; nothing was done. Retry in a moment.');
}

function problemOf({ raw, originalUrl }: FastifyRequest): AppError | undefined {
  if (raw.httpVersionMajor !== 1) {
    return new AppError(50500, `HTTP/${raw.httpVersion} is not supported; use HTTP/1.1.`);
  }
  if (originalUrl.length > limits.urlBytes) return urlTooLong();
  return (
    repeatedHeader(raw) ??
    host(raw) ??
    target(raw.method, originalUrl) ??
    transferCoding(raw) ??
    contentCoding(raw) ??
    expectation(raw)
  );
}

/** RFC 9112 §3.2: HTTP/1.1 requires Host, which must be valid but may be empty. The service accepts any name. */
function host({ headers, httpVersion }: IncomingMessage): AppError | undefined {
  const { host: given } = headers;
  if (given === undefined) {
    return httpVersion === '1.1' ? new AppError(40000, 'The header Host is missing.') : undefined;
  }
  return isHost(given)
    ? undefined
    : new AppError(40000, 'The header Host is not a host with an optional port.');
}

/** RFC 9112 §3.2: a path or an absolute URL; for OPTIONS also `*`; host and port for CONNECT only. */
function target(method: string | undefined, url: string): AppError | undefined {
  // The router would take what follows for a query, which the fingerprint of a request leaves out.
  if (url.includes('#')) return unreadableTarget('it must have no fragment');
  if (method === 'CONNECT') {
    return /:\d+$/.test(url) && hasHost(url)
      ? undefined
      : unreadableTarget('CONNECT must name a host and a port');
  }
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return undefined;
  const [, authority = ''] = /^https?:\/\/([^/?]*)/i.exec(url) ?? [];
  if (hasHost(authority)) return undefined;
  return unreadableTarget('it must be a path, or an http URL with a host and without user information');
}

function unreadableTarget(rule: string): AppError {
  return new AppError(40000, `The target of the request cannot be read: ${rule}.`);
}

/** Like `isHost`, but the host must not be empty. */
function hasHost(authority: string): boolean {
  return authority !== '' && !authority.startsWith(':') && isHost(authority);
}

const NAMED_HOST = /^[\w.~!$&'()*+,;=-]*(?:%[\da-f]{2}[\w.~!$&'()*+,;=-]*)*(?::\d*)?$/i;
const FUTURE_ADDRESS = /^v[\da-f]+\.[\w.~!$&'()*+,;=:-]+$/i;

/** `host [ ":" port ]` of RFC 3986 §3.2.2 and §3.2.3. */
function isHost(text: string): boolean {
  if (!text.startsWith('[')) return NAMED_HOST.test(text);
  const [, address = ''] = /^\[([^\]]*)\](?::\d*)?$/.exec(text) ?? [];
  // Node accepts zones of interfaces, which are not allowed in a URL.
  return (isIPv6(address) && !address.includes('%')) || FUTURE_ADDRESS.test(address);
}

export function urlTooLong(): AppError {
  return new AppError(41400, `The URL is longer than ${limits.urlBytes} bytes.`);
}

function repeatedHeader({ rawHeaders, method }: IncomingMessage): AppError | undefined {
  let seen = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    const bit = SINGLE.get(name) ?? 0;
    if (seen & bit) return repeated(name, method);
    seen |= bit;
  }
  return undefined;
}

function repeated(name: string, method: string | undefined): AppError {
  if (name === 'authorization') return malformed('it is given more than once');
  const code = name === 'idempotency-key' && method === 'POST' ? 40006 : 40000;
  return new AppError(code, `The header ${name} is given more than once.`);
}

/** RFC 9112 §6.1: chunked is the only coding, and HTTP/1.0 has none. */
function transferCoding({ headers, httpVersion }: IncomingMessage): AppError | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion === '1.0') return new AppError(40000, 'HTTP/1.0 has no Transfer-Encoding.');
  if (coding.toLowerCase() === 'chunked') return undefined;
  return new AppError(50100, 'Only the transfer-coding chunked is supported.');
}

function contentCoding({ headers, method = '' }: IncomingMessage): AppError | undefined {
  const coding = headers['content-encoding'];
  // No other request has a body that is read.
  if (coding === undefined || !['POST', 'PATCH'].includes(method)) return undefined;
  if (coding.toLowerCase() === 'identity') return undefined;
  return new AppError(41501, 'Send the body as it is, without Content-Encoding.', {
    headers: { 'accept-encoding': 'identity' },
  });
}

/** RFC 9110 §10.1.1: HTTP/1.0 has no expectations. */
function expectation({ headers: { expect }, httpVersion }: IncomingMessage): AppError | undefined {
  if (expect === undefined || httpVersion === '1.0') return undefined;
  if (expect.toLowerCase() === '100-continue') return undefined;
  return new AppError(41700, 'Only the expectation 100-continue is supported.');
}
