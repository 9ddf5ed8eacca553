import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { monotonicMs } from '../../measure/clock.ts';
import type { Entry } from './history.ts';
import { exactly } from './requests.ts';

/** The receiver of all webhooks of a run. */
export type Receiver = {
  urlOf(webhook: number): string;
  /** The secret of a webhook; its deliveries are answered once it is known. */
  trust(webhook: number, secret: string): void;
  stop(): Promise<void>;
};

export type ReceiverOptions = {
  /** Where the service reaches it; port 0 picks a free one. */
  url: string;
  random: () => number;
  record(entry: Entry): void;
};

/** The share of events that a webhook refuses once. Only once: the usual schedule has long pauses. */
const REFUSED = 0.1;

export async function startReceiver({ url, random, record }: ReceiverOptions): Promise<Receiver> {
  const secrets = new Map<number, PromiseWithResolvers<string>>();
  const seen = new Set<string>();

  function secretOf(webhook: number): PromiseWithResolvers<string> {
    const secret = secrets.get(webhook) ?? Promise.withResolvers<string>();
    secrets.set(webhook, secret);
    return secret;
  }

  const server = createServer(async (request, response) => {
    const begin = monotonicMs();
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    const webhook = Number(request.url?.slice(1));
    const isGenuine = isSigned(request.headers, body, await secretOf(webhook).promise);
    const event = String(request.headers['webhook-id']);
    const isRefused = !seen.has(`${webhook} ${event}`) && random() < REFUSED;
    seen.add(`${webhook} ${event}`);
    const status = isRefused ? 500 : 204;
    record({ kind: 'delivery', webhook, event, ...exactly(body), begin, status, isGenuine });
    response.writeHead(status).end();
  });
  const own = new URL(url);
  server.listen(Number(own.port), own.hostname);
  await once(server, 'listening');
  const address = server.address();
  if (address !== null && typeof address === 'object') own.port = String(address.port);

  return {
    urlOf: (webhook) => new URL(`/${webhook}`, own).href,
    trust: (webhook, secret) => secretOf(webhook).resolve(secret),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** By Standard Webhooks; without the age, since clocks are set during a run. */
function isSigned(headers: IncomingHttpHeaders, body: string, secret: string): boolean {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  const given = String(headers['webhook-signature'])
    .split(' ')
    .map((each) => Buffer.from(each));
  return given.some((each) => each.length === expected.length && timingSafeEqual(each, expected));
}
