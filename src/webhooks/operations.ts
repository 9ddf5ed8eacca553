import { AppError } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import type { Webhook, WebhookStore } from './port.ts';
import { newKeyPair, newSecret } from './signature.ts';
import type { Target } from './target.ts';
import type { WebhookInput } from './webhook.ts';

export type WebhooksContext = { store: WebhookStore; runtime: Runtime; target: Target };

/**
 * Makes a webhook for the plants that its owner has access to. The secret is in this answer only.
 *
 * @throws AppError 42201 when the URL may not be a target.
 */
export async function createWebhook(
  { store, runtime, target }: WebhooksContext,
  owner: number,
  input: WebhookInput,
): Promise<{ webhook: Webhook; secret: string }> {
  await target.check(input.url);
  const secret = newSecret(runtime.random);
  const { privateKey, publicKey } = newKeyPair(runtime.random);
  const created = {
    id: runtime.ids.next('wh'),
    owner,
    url: input.url,
    description: input.description,
    publicKey,
    createdAt: runtime.clock.now(),
  };
  await store.createWebhook({ ...created, secrets: [secret], privateKey });
  return { webhook: { ...created, status: 'enabled' }, secret };
}

/** The owner's webhooks, oldest first. */
export function listWebhooks({ store }: WebhooksContext, owner: number): Promise<Webhook[]> {
  return store.webhooks(owner);
}

/**
 * Removes a webhook with its deliveries.
 *
 * @throws AppError 40402 when the owner has no such webhook.
 */
export async function deleteWebhook({ store }: WebhooksContext, owner: number, id: string): Promise<void> {
  if (await store.deleteWebhook(owner, id)) return;
  throw new AppError(40402, 'You have no webhook with this id.');
}
