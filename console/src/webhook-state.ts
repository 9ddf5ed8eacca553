import { hasFailedLast } from '../../packages/client/src/attention.ts';
import type { Delivery, Webhook } from '../../packages/client/src/client.ts';
import type { IconName } from './components/icon.tsx';
import { serviceNow } from './connection.ts';
import { fromNow, isBlank } from './format.ts';

/** A state as shown: a word, a colour, an icon. */
export type Shown = { text: string; kind: 'good' | 'warn' | 'bad' | 'info' | 'plain'; icon: IconName };

/** What a webhook is called. */
export function nameOf({ url, description = '' }: Pick<Webhook, 'url' | 'description'>): string {
  return isBlank(description) ? url : description;
}

/** The state of a webhook in a word. */
export function shownWebhook(webhook: Webhook, now: number): Shown {
  const { status, disabledReason, pausedUntil, lastSuccessAt } = webhook;
  if (disabledReason !== undefined) return { text: 'Disabled by the service', kind: 'bad', icon: 'alert' };
  if (status === 'disabled') return { text: 'Disabled', kind: 'plain', icon: 'pause' };
  if (pausedUntil !== undefined && Date.parse(pausedUntil) > now) {
    return { text: 'Paused by its receiver', kind: 'warn', icon: 'clock' };
  }
  if (hasFailedLast(webhook)) return { text: 'Failing', kind: 'bad', icon: 'alert' };
  if (lastSuccessAt === undefined) return { text: 'Nothing sent yet', kind: 'info', icon: 'clock' };
  return { text: 'Healthy', kind: 'good', icon: 'check' };
}

const STATES: Record<Delivery['state'], Shown> = {
  pending: { text: 'Waiting', kind: 'info', icon: 'clock' },
  held: { text: 'Held', kind: 'warn', icon: 'pause' },
  delivered: { text: 'Delivered', kind: 'good', icon: 'check' },
  failed: { text: 'Failed', kind: 'bad', icon: 'alert' },
};

/** What becomes of a delivery that was just requested. A pause delays it, and a schedule that begins with a delay. */
export function expectationOf({ state, nextAttemptAt }: Delivery, now = serviceNow()): string {
  if (state === 'held') return 'It is held until the webhook is enabled.';
  const isLater = nextAttemptAt !== undefined && Date.parse(nextAttemptAt) > now + 2_000;
  return isLater ? `It will be sent ${fromNow(nextAttemptAt, now)}.` : 'It will be sent next.';
}

/** What a delivery is about, as a title. */
export function titleOf({ type, plant }: Pick<Delivery, 'type' | 'plant'>): string {
  if (type === 'plant.test') return 'Test event';
  return isBlank(plant.name) ? `Plant ${plant.id}` : plant.name;
}

/** A delivery that failed and waits for its next attempt is told from one that was never tried by its colour. */
export function shownDelivery({ state, reason }: Pick<Delivery, 'state' | 'reason'>): Shown {
  const shown = STATES[state];
  return state === 'pending' && reason !== undefined ? { ...shown, kind: 'warn' } : shown;
}
