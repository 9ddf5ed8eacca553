import { type Answer, succeeded } from './answer.ts';
import { eventually } from './eventually.ts';
import type { Service } from './service.ts';

/** Operations on webhooks and deliveries. The tests check their answers. */
export type WebhookClient = {
  token: string;
  send(method: string, path: string, body?: unknown): Promise<Answer>;
  createWebhook(body: unknown): Promise<WebhookAnswer & { secret: string }>;
  webhook(id: string): Promise<WebhookAnswer>;
  createPlant(body: unknown): Promise<void>;
  deliveries(id: string, query?: string): Promise<DeliveryAnswer[]>;
  delivery(id: string, event: string): Promise<DeliveryAnswer & { history: AttemptAnswer[] }>;
  /** The webhook's newest delivery once it is in this state. */
  newestIn(id: string, state: DeliveryAnswer['state']): Promise<DeliveryAnswer>;
};

export type WebhookAnswer = {
  id: string;
  url: string;
  description?: string;
  rate?: number;
  status: 'enabled' | 'disabled';
  disabledReason?: string;
  pausedUntil?: string;
  publicKey: string;
  createdAt: string;
  lastSuccessAt?: string;
  lastFailureAt?: string;
  waiting: number;
  failed: number;
  oldestWaitingAge?: number;
};

export type DeliveryAnswer = {
  event: string;
  type: string;
  plant: { id: number; name: string; tag?: string };
  state: 'pending' | 'held' | 'delivered' | 'failed';
  attempts: number;
  nextAttemptAt?: string;
  reason?: string;
  createdAt: string;
};

export type AttemptAnswer = {
  at: string;
  durationMs: number;
  address?: string;
  status?: number;
  excerpt?: string;
  error?: string;
};

export async function webhookClient(service: Service, user: string): Promise<WebhookClient> {
  const token = await service.tokenFor(user);
  const send: WebhookClient['send'] = (method, path, body) => service.request(method, path, { body, token });
  const get = async (path: string) => succeeded(await send('GET', path), 200);

  // The casts name what the tests use; the shape itself is compared with the OpenAPI document.
  const client: WebhookClient = {
    token,
    send,
    createWebhook: async (body) =>
      succeeded(await send('POST', '/webhooks', body), 201) as WebhookAnswer & { secret: string },
    webhook: async (id) => (await get(`/webhooks/${id}`)) as WebhookAnswer,
    async createPlant(body) {
      succeeded(await send('POST', '/plants', body), 201);
    },
    deliveries: async (id, query = '') =>
      (await get(`/webhooks/${id}/deliveries${query}`)) as DeliveryAnswer[],
    delivery: async (id, event) =>
      (await get(`/webhooks/${id}/deliveries/${event}`)) as DeliveryAnswer & { history: AttemptAnswer[] },
    newestIn: (id, state) =>
      eventually(`newest delivery that is ${state}`, async () => {
        const [newest] = await client.deliveries(id, '?limit=1');
        return newest?.state === state ? newest : undefined;
      }),
  };
  return client;
}

/** A URL where nothing listens. */
export const NOWHERE = 'http://127.0.0.1:9/';

/** Creates a disabled webhook, then these plants, whose deliveries are therefore held. */
export async function holding(client: WebhookClient, ...plants: (number | bigint)[]): Promise<string> {
  const { id } = await client.createWebhook({ url: NOWHERE });
  succeeded(await client.send('PATCH', `/webhooks/${id}`, { enabled: false }), 200);
  for (const plant of plants) await client.createPlant(`{"name":"Alder","id":${plant}}`);
  return id;
}

export const testWebhook = (client: WebhookClient, id: string, body?: unknown) =>
  client.send('POST', `/webhooks/${id}/test`, body);
export const redeliver = (client: WebhookClient, id: string, event: string, body?: unknown) =>
  client.send('POST', `/webhooks/${id}/deliveries/${event}/redeliver`, body);
