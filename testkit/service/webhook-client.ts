import { type Answer, succeeded } from './answer.ts';
import { eventually } from './eventually.ts';
import { type DeliveryAnswer, type Owner, ownerOf, type WebhookAnswer } from './owner.ts';
import type { Service } from './service.ts';

/** A user who also creates webhooks and plants with any members. */
export type WebhookClient = Owner & {
  token: string;
  send(method: string, path: string, body?: unknown): Promise<Answer>;
  createWebhook(body: unknown): Promise<WebhookAnswer & { secret: string }>;
  createPlant(body: unknown): Promise<void>;
  /** The webhook's newest delivery once it is in this state. */
  newestIn(id: string, state: DeliveryAnswer['state']): Promise<DeliveryAnswer>;
};

export async function webhookClient(service: Service, user: string): Promise<WebhookClient> {
  const token = await service.tokenFor(user);
  const owner = ownerOf(service, token);
  const send: WebhookClient['send'] = (method, path, body) => service.request(method, path, { body, token });
  return {
    ...owner,
    token,
    send,
    createWebhook: async (body) =>
      // The API tests compare the shape with the OpenAPI document.
      succeeded(await send('POST', '/webhooks', body), 201) as WebhookAnswer & { secret: string },
    async createPlant(body) {
      succeeded(await send('POST', '/plants', body), 201);
    },
    newestIn: (id, state) =>
      eventually(`newest delivery that is ${state}`, async () => {
        const [newest] = await owner.deliveries(id, '?limit=1');
        return newest?.state === state ? newest : undefined;
      }),
  };
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
