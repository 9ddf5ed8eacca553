import type { Webhook } from '../../src/client/client.ts';
import { count, duration } from './format.ts';

/** What somebody should look at, worst first. */
export type Concern = { webhook: Webhook; kind: 'bad' | 'warn'; text: string };

/** An event that has waited for longer should have arrived by now: the second attempt comes after seconds. */
const LATE_SECONDS = 60;

export function concernsOf(webhooks: readonly Webhook[], now: number): Concern[] {
  const found = webhooks.flatMap((webhook) => {
    const text = stateOf(webhook, now);
    return text === undefined ? [] : [{ webhook, ...text }];
  });
  return found.sort((a, b) => Number(b.kind === 'bad') - Number(a.kind === 'bad'));
}

function stateOf(webhook: Webhook, now: number): Omit<Concern, 'webhook'> | undefined {
  const { status, disabledReason, pausedUntil, failed, oldestWaitingAge = 0, waiting } = webhook;
  const held = waiting > 0 ? ` ${count(waiting)} of its deliveries are held.` : '';
  if (disabledReason !== undefined) {
    return { kind: 'bad', text: `The service disabled it: ${disabledReason}${held}` };
  }
  if (status === 'disabled') return { kind: 'warn', text: `It is disabled.${held}` };
  if (isFailing(webhook)) {
    return { kind: 'bad', text: `The last attempt failed. Waiting to be sent: ${count(waiting)}.` };
  }
  if (pausedUntil !== undefined && Date.parse(pausedUntil) > now) {
    return { kind: 'warn', text: 'Its receiver asked for a pause.' };
  }
  if (oldestWaitingAge >= LATE_SECONDS) {
    return { kind: 'warn', text: `A delivery has waited for ${duration(oldestWaitingAge * 1_000)}.` };
  }
  if (failed > 0) return { kind: 'warn', text: `${count(failed)} deliveries were given up.` };
  return undefined;
}

/** Whether nothing has arrived since an attempt failed, and something waits. */
export function isFailing({ lastFailureAt, lastSuccessAt, waiting }: Webhook): boolean {
  if (lastFailureAt === undefined || waiting === 0) return false;
  return lastSuccessAt === undefined || Date.parse(lastSuccessAt) < Date.parse(lastFailureAt);
}
