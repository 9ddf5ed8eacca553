import type { Delivery, Webhook } from '../../src/client/client.ts';
import { count, counted, duration } from './format.ts';

/** What somebody should look at. */
export type Concern = {
  webhook: Webhook;
  kind: 'bad' | 'warn';
  text: string;
  step: Step;
};

/** What helps: to enable it, to send again what failed, or to look at what became of its deliveries. */
export type Step = { do: 'enable' } | { do: 'replay' } | { do: 'look'; at: Delivery['state'] | undefined };

/** An event that has waited for longer should have arrived by now: the second attempt comes after seconds. */
const LATE_SECONDS = 60;

/** Worst first. */
export function concernsOf(webhooks: readonly Webhook[], now: number): Concern[] {
  const found = webhooks.flatMap((webhook) => {
    const about = concernOf(webhook, now);
    return about === undefined ? [] : [{ webhook, ...about }];
  });
  return found.sort((a, b) => Number(b.kind === 'bad') - Number(a.kind === 'bad'));
}

function concernOf(webhook: Webhook, now: number): Omit<Concern, 'webhook'> | undefined {
  const { status, disabledReason, pausedUntil, failed, oldestWaitingAge = 0, waiting } = webhook;
  const held = waiting > 0 ? ` ${counted(waiting, 'delivery is', 'deliveries are')} held.` : '';
  const lost = failed > 0 ? ` ${counted(failed, 'delivery was', 'deliveries were')} given up.` : '';
  const enable: Step = { do: 'enable' };
  const lookAtWaiting: Step = { do: 'look', at: 'pending' };
  if (disabledReason !== undefined) {
    return { kind: 'bad', text: `The service disabled it: ${disabledReason}${held}`, step: enable };
  }
  if (status === 'disabled') return { kind: 'warn', text: `It is disabled.${held}`, step: enable };
  if (isFailing(webhook)) {
    const text = `The last attempt failed. Waiting to be sent: ${count(waiting)}.${lost}`;
    return { kind: 'bad', text, step: lookAtWaiting };
  }
  if (pausedUntil !== undefined && Date.parse(pausedUntil) > now) {
    return { kind: 'warn', text: `Its receiver asked for a pause.${lost}`, step: lookAtWaiting };
  }
  if (oldestWaitingAge >= LATE_SECONDS) {
    const text = `A delivery has waited for ${duration(oldestWaitingAge * 1_000)}.${lost}`;
    return { kind: 'warn', text, step: lookAtWaiting };
  }
  const last = hasFailedLast(webhook) ? 'The last attempt failed.' : '';
  if (failed > 0) return { kind: 'warn', text: `${last}${lost}`.trim(), step: { do: 'replay' } };
  return last === '' ? undefined : { kind: 'warn', text: last, step: { do: 'look', at: undefined } };
}

/** Whether nothing has arrived since an attempt failed, and something waits. */
export function isFailing(webhook: Webhook): boolean {
  return webhook.waiting > 0 && hasFailedLast(webhook);
}

/** Whether nothing has arrived since an attempt failed. */
export function hasFailedLast({ lastFailureAt, lastSuccessAt }: Webhook): boolean {
  if (lastFailureAt === undefined) return false;
  return lastSuccessAt === undefined || Date.parse(lastSuccessAt) < Date.parse(lastFailureAt);
}
