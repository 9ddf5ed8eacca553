import type { TestContext } from 'node:test';
import type { Received } from '../receivers/receiver.ts';
import { type Handler, startGateway } from './gateway.ts';

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
  fateOf: (index: number, request: Received) => Fate,
): Promise<CuttingProxy> {
  const gateway = await startGateway({ port: Number(new URL(target).port) });
  t.after(gateway.stop);
  const handlers: Record<Fate, Handler> = {
    pass: gateway.pass,
    'cut before': (_, response) => response.destroy(),
    'cut after': gateway.cut(),
    hang: () => {},
    503: (_, response) => response.writeHead(503, { 'retry-after': '0' }).end(OVERLOADED),
  };
  const seen: string[] = [];
  gateway.usually((request, response) => {
    const fate = fateOf(seen.push(`${request.method} ${request.path}`) - 1, request);
    handlers[fate](request, response);
  });
  return { url: gateway.url, seen };
}

const OVERLOADED = JSON.stringify({ error: 50300, message: 'The service is overloaded.' });
