import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

/** What happens to a request: it is passed on, or the connection is cut before or after that, or it is never answered. */
export type Fate = 'pass' | 'cut before' | 'cut after' | 'hang' | 503;

export type CuttingProxy = {
  url: string;
  /** Method and URL of every request, in order. */
  seen: string[];
};

/** A bad way to a service. Ends with the test. */
export async function startCuttingProxy(
  t: TestContext,
  target: string,
  fateOf: (index: number, request: IncomingMessage) => Fate,
): Promise<CuttingProxy> {
  const seen: string[] = [];
  const server: Server = createServer(async (request, response) => {
    const fate = fateOf(seen.push(`${request.method} ${request.url}`) - 1, request);
    const body = await buffer(request);
    if (fate === 'hang') return;
    if (fate === 'cut before') return response.destroy();
    if (fate === 503) {
      const overloaded = { error: 50300, message: 'The service is overloaded.' };
      return response.writeHead(503, { 'retry-after': '0' }).end(JSON.stringify(overloaded));
    }
    const answer = await passOn(target, request, body);
    if (fate === 'cut after') return response.destroy();
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(answer.text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it does not listen on a port');
  return { url: `http://127.0.0.1:${address.port}`, seen };
}

async function passOn(target: string, { method, url, headers }: IncomingMessage, body: Buffer) {
  const passed = new Headers();
  for (const name of ['authorization', 'content-type', 'idempotency-key']) {
    const value = headers[name];
    if (typeof value === 'string') passed.set(name, value);
  }
  const init: RequestInit = { method: method ?? 'GET', headers: passed };
  if (body.length > 0) init.body = new Uint8Array(body);
  const answer = await fetch(target + url, init);
  const kept = new Headers();
  for (const name of ['content-type', 'location', 'link', 'idempotent-replayed']) {
    const value = answer.headers.get(name);
    if (value !== null) kept.set(name, value);
  }
  return { status: answer.status, headers: kept, text: Buffer.from(await answer.arrayBuffer()) };
}
