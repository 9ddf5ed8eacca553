import assert from 'node:assert/strict';
import { succeeded } from '../../testkit/service/answer.ts';
import type { Service } from '../../testkit/service/service.ts';

/** A user's data: a plant, its event, a disabled webhook, its held delivery, and a token. */
export type Belongings = {
  plant: { id: string; name: string };
  webhook: string;
  event: string;
  token: string;
  /** Texts for the user only, except that viewers may see the plant's name. */
  marks: readonly string[];
};

let made = 0;

/** Creates all of it, through requests of the user. */
export async function makeBelongings(service: Service, authorization: string): Promise<Belongings> {
  made++;
  const headers = { authorization };
  const name = `The owner's plant ${made}.`;
  const description = `The owner's webhook ${made}.`;
  const label = `The owner's token ${made}.`;
  const url = `http://127.0.0.1:9/the-owner's-path-${made}.`;
  // Outside the ids that the service assigns.
  const id = String(-9_000_000_000_000_000_000n + BigInt(made));

  const post = (path: string, body: unknown) => service.request('POST', path, { headers, body });
  // Only the webhook's id is used.
  const { id: webhook } = succeeded(await post('/webhooks', { url, description }), 201) as { id: string };
  const changed = await service.request('PATCH', `/webhooks/${webhook}`, {
    headers,
    body: { enabled: false },
  });
  succeeded(changed, 200);
  succeeded(await post('/plants', `{"id":${id},"name":"${name}"}`), 201);
  // Likewise of the token.
  const { id: token } = succeeded(await post('/tokens', { label }), 201) as { id: string };
  const listed = await service.request('GET', `/webhooks/${webhook}/deliveries`, { headers });
  // Only the event's id is used.
  const [delivery] = succeeded(listed, 200) as { event: string }[];
  assert.ok(delivery !== undefined);
  const marks = [name, description, url, label];
  return { plant: { id, name }, webhook, event: delivery.event, token, marks };
}
