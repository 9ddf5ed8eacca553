import { succeeded } from '../../testkit/service/answer.ts';
import type { Service } from '../../testkit/service/service.ts';

/** The only loopback network the services allow, so that all other URLs are refused. */
export const RECEIVERS = { network: '127.77.0.0/16', address: '127.77.0.1' };

/** The id of a webhook that sends nothing, whatever its user creates. */
export async function silentWebhook(service: Service, token: string): Promise<string> {
  const body = { url: `http://${RECEIVERS.address}:9/` };
  const made = succeeded(await service.request('POST', '/webhooks', { token, body }), 201);
  // Another test compares the shape with the OpenAPI document.
  const { id } = made as { id: string };
  const disabled = { token, body: { enabled: false } };
  succeeded(await service.request('PATCH', `/webhooks/${id}`, disabled), 200);
  return id;
}
