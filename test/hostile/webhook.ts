import { succeeded } from '../../testkit/service/answer.ts';
import type { Service } from '../../testkit/service/service.ts';

/** Of loopback the services admit only this, so that URLs of all the rest are refused. */
export const RECEIVERS = { network: '127.77.0.0/16', address: '127.77.0.1' };

/** The id of a webhook that sends nothing, whatever plants its user gets. */
export async function silentWebhook(service: Service, token: string): Promise<string> {
  const body = { url: `http://${RECEIVERS.address}:9/` };
  const made = succeeded(await service.request('POST', '/webhooks', { token, body }), 201);
  // The shape is compared with the OpenAPI document elsewhere.
  const { id } = made as { id: string };
  const disabled = { token, body: { enabled: false } };
  succeeded(await service.request('PATCH', `/webhooks/${id}`, disabled), 200);
  return id;
}
