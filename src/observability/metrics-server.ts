import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { AppError, errorAnswer } from '../errors.ts';
import { nodeHttp, urlOf } from '../http/node-http.ts';
import { http, observability as limits } from '../limits.ts';
import type { Log } from '../runtime.ts';

export type MetricsPlace = {
  port: number;
  host: string;
  /** Makes a server answer what Node's parser refuses as the API does. Passed in, because layers do not share code. */
  answerUnreadable(server: Server): void;
};

/**
 * Serves /metrics on its own port, which only scrapers should reach. Requests to it can hardly slow the service: it
 * allows few connections, one request on each, and collects metrics at most once a second.
 */
export async function serveMetrics(
  { port, host, answerUnreadable }: MetricsPlace,
  registry: Pick<Registry, 'metrics' | 'contentType'>,
  log: Log,
) {
  const text = freshText(() => registry.metrics());
  const server = nodeHttp.createServer(
    {
      headersTimeout: limits.requestMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.requestMs / 2,
      // As for the API, so that its answers are right here.
      maxHeaderSize: http.headerBytes,
      // Node itself would answer without a body.
      requireHostHeader: false,
    },
    (request, response) => void answerTo(request).then((answer) => send(response, answer)),
  );
  server.maxConnections = limits.connections;
  server.setTimeout(limits.idleMs, (socket) => socket.destroy());
  answerUnreadable(server);
  server.on('checkExpectation', (_request, response) => send(response, errorAnswer(new AppError(41700))));

  async function answerTo(request: IncomingMessage): Promise<Answer> {
    const refusal = refusalOf(request);
    if (refusal) return errorAnswer(refusal);
    try {
      const body = await text();
      const fields = { 'content-type': registry.contentType, 'content-length': Buffer.byteLength(body) };
      return { status: 200, fields, body };
    } catch (err) {
      log.error({ err }, 'the metrics cannot be read');
      return errorAnswer(new AppError(50000, 'The metrics cannot be read.'));
    }
  }

  server.listen(port, host);
  await once(server, 'listening');
  let stopping: Promise<unknown> | undefined;
  return {
    /** The URL of /metrics. */
    url: `${urlOf(server, host)}/metrics`,
    /** Ends open requests. May be called twice. */
    async stop(): Promise<void> {
      stopping ??= once(server.close(), 'close');
      server.closeAllConnections();
      await stopping;
    },
  };
}

function refusalOf({ method = '', url = '', headers, httpVersion }: IncomingMessage): AppError | undefined {
  // RFC 9112 §3.2.
  if (headers.host === undefined && httpVersion === '1.1') {
    return new AppError(40000, 'The header Host is missing.');
  }
  if (url.split('?', 1)[0] !== '/metrics') {
    return new AppError(40400, 'There is no such path; this port serves only /metrics.');
  }
  if (method === 'GET' || method === 'HEAD') return undefined;
  const allow = 'GET, HEAD';
  return new AppError(40500, `The path does not support ${method}; it supports ${allow}.`, {
    headers: { allow },
  });
}

type Answer = Omit<ReturnType<typeof errorAnswer>, 'code'>;

/** Node omits the body for a HEAD request. A connection kept open would occupy one of few places. */
function send(response: ServerResponse, { status, fields, body }: Answer): void {
  response.writeHead(status, { ...fields, connection: 'close' }).end(body);
}

/** Requests during a collection, and shortly after, share the same text. */
function freshText(make: () => Promise<string>): () => Promise<string> {
  let made: Promise<string> | undefined;
  let staleAt = 0;

  return () => {
    if (made && performance.now() < staleAt) return made;
    staleAt = Infinity;
    made = make().finally(() => {
      staleAt = performance.now() + limits.freshMs;
    });
    return made;
  };
}
