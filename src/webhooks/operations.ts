import { AppError } from '../errors.ts';
import type { Caller, CallerFor } from '../idempotency/port.ts';
import { delivery as limits } from '../limits.ts';
import { type Runtime, timeText } from '../runtime.ts';
import type { DeliveryStore, EventStore, Webhook, WebhookHealth, WebhookStore } from './port.ts';
import { newKeyPair, newSecret } from './sending/signature.ts';
import type { Target } from './sending/target.ts';
import type { RotationInput, WebhookInput, WebhookPatch, WebhookWithHealth } from './webhook.ts';

export type WebhooksContext = {
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  events: EventStore;
  runtime: Runtime;
  target: Target;
  /** How long after its event a delivery is first due, in milliseconds. */
  deliveryDelayMs: number;
};

/**
 * Creates a webhook for the plants that its owner has access to. The secret is only in this answer.
 * @throws AppError 42201 when the URL may not be a target, 40902 when the owner has reached the limit.
 */
export async function createWebhook(
  { webhooks, runtime, target }: WebhooksContext,
  owner: number,
  { url, description, rate }: WebhookInput,
  callerFor?: CallerFor<CreatedWebhook>,
): Promise<CreatedWebhook> {
  await target.check(url);
  const secret = newSecret(runtime.random);
  const { privateKey, publicKey } = newKeyPair(runtime.random);
  const created = {
    id: runtime.ids.next('wh'),
    owner,
    url,
    description,
    rate,
    publicKey,
    createdAt: runtime.clock.now(),
  };
  const most = limits.webhooksPerUser;
  const result = { webhook: { ...created, ...UNUSED }, health: NOTHING_YET, secret };
  const stored = { ...created, secrets: [secret], privateKey };
  if (await webhooks.createWebhook(stored, most, callerFor?.(result))) return result;
  throw new AppError(40902, `You have ${most} webhooks, which is the limit; delete one first.`);
}

export type CreatedWebhook = WebhookWithHealth & { secret: string };

const UNUSED = {
  status: 'enabled',
  disabledReason: undefined,
  pausedUntil: undefined,
  lastSuccessAt: undefined,
  lastFailureAt: undefined,
} as const satisfies Partial<Webhook>;

const NOTHING_YET: WebhookHealth = { waiting: 0, failed: 0, oldestWaitingAt: undefined };

/** The owner's webhooks, oldest first. */
export async function listWebhooks(context: WebhooksContext, owner: number): Promise<WebhookWithHealth[]> {
  // One after the other: each may have a long backlog to count, while other requests get their turn.
  return Array.fromAsync(await context.webhooks.webhooks(owner), (webhook) => withHealth(context, webhook));
}

/** @throws AppError 40402 when the owner has no such webhook. */
export async function getWebhook(
  context: WebhooksContext,
  owner: number,
  id: string,
): Promise<WebhookWithHealth> {
  return withHealth(context, await findWebhook(context, owner, id));
}

/**
 * Changes the given members; null removes one.
 * @throws AppError 40402 when the owner has no such webhook, 42201 when the new URL may not be a target.
 */
export async function changeWebhook(
  context: WebhooksContext,
  owner: number,
  id: string,
  patch: WebhookPatch,
  caller?: Caller,
): Promise<WebhookWithHealth> {
  const { webhooks, target, runtime } = context;
  // Before the URL, so that nobody learns anything about other users' webhooks, and before the change, so that nothing
  // was done when the deliveries cannot be counted.
  const before = await getWebhook(context, owner, id);
  if (Object.keys(patch).length === 0) return before;
  if (patch.url !== undefined) await target.check(patch.url);
  const changed = await webhooks.changeWebhook(owner, id, { ...patch, at: runtime.clock.now() }, caller);
  if (changed === undefined) throw noWebhook();
  return { ...before, webhook: changed };
}

/**
 * Deletes a webhook and its deliveries.
 * @throws AppError 40402 when the owner has no such webhook.
 */
export async function deleteWebhook(
  { webhooks }: WebhooksContext,
  owner: number,
  id: string,
  caller?: Caller,
): Promise<void> {
  if (!(await webhooks.deleteWebhook(owner, id, caller))) throw noWebhook();
}

/**
 * Gives a webhook a new secret, which is only in this answer. Earlier secrets sign until `overlapUntil`
 * (milliseconds), so that the receiver can switch in the meantime.
 * @throws AppError 40402 when the owner has no such webhook, 40902 when too many secrets are live.
 */
export async function rotateSecret(
  { webhooks, runtime }: WebhooksContext,
  owner: number,
  id: string,
  { overlap = limits.overlapSeconds.default }: RotationInput,
  callerFor?: CallerFor<SecretRotation>,
): Promise<SecretRotation> {
  const secret = newSecret(runtime.random);
  const at = runtime.clock.now();
  const overlapUntil = at + overlap * 1000;
  const most = limits.liveSecrets;
  const result = { secret, overlapUntil };
  const rotation = { ...result, at, most };
  const outcome = await webhooks.rotateSecret(owner, id, rotation, callerFor?.(result));
  if (outcome === 'rotated') return result;
  if (outcome === 'no webhook') throw noWebhook();
  throw new AppError(
    40902,
    `The webhook has ${most} live secrets, which is the limit; the next one ends at ` +
      `${timeText(outcome.until)}. An overlap of 0 ends all of them at once.`,
  );
}

/** `overlapUntil`: until when the earlier secrets sign, in milliseconds since the Unix epoch. */
export type SecretRotation = { secret: string; overlapUntil: number };

/** @throws AppError 40402 when the owner has no such webhook. */
export async function findWebhook(
  { webhooks }: Pick<WebhooksContext, 'webhooks'>,
  owner: number,
  id: string,
): Promise<Webhook> {
  const webhook = await webhooks.webhook(owner, id);
  if (webhook === undefined) throw noWebhook();
  return webhook;
}

export function noWebhook(): AppError {
  return new AppError(40402, 'You have no webhook with this id.');
}

async function withHealth({ deliveries }: WebhooksContext, webhook: Webhook): Promise<WebhookWithHealth> {
  return { webhook, health: await deliveries.health(webhook.id) };
}
