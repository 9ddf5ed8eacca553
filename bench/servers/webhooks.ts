import { askFor } from '../load/client.ts';
import type { Server } from './server.ts';

/** For the service's environment: the benchmark's receivers are on the loopback. */
export const loopbackAllowed = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };

export type Webhook = { id: string; secret: string };

/** A webhook of the user `admin`. */
export async function createWebhook(service: Server, url: string): Promise<Webhook> {
  const answer = await askFor(`${service.url}/webhooks`, { method: 'POST', body: JSON.stringify({ url }) });
  return JSON.parse(answer.body);
}

export async function deleteWebhook(service: Server, id: string): Promise<void> {
  await askFor(`${service.url}/webhooks/${id}`, { method: 'DELETE' });
}
