import type { Webhook, WebhookCreated } from '../../../packages/client/src/schemas.ts';
import type { Field } from '../terminal/table.ts';
import { roughDuration } from '../terminal/time.ts';

export function identityFields({ id, url, description, rate, publicKey }: Webhook | WebhookCreated): Field[] {
  return [
    ['ID', id],
    ['URL', url],
    ['Description', description],
    ['Rate', rate === undefined ? rate : `at most ${rate} attempts per second`],
    ['Public key', publicKey],
  ];
}

export function healthFields(webhook: Webhook): Field[] {
  const { status, disabledReason, pausedUntil, waiting, failed } = webhook;
  const oldest = oldestOf(webhook);
  return [
    ['Status', status + (disabledReason === undefined ? '' : `: ${disabledReason}`)],
    ['Paused', pausedUntil && `until ${pausedUntil}, as requested by the receiver`],
    ['Waiting', waiting + (oldest === undefined ? '' : `, the oldest for ${oldest}`)],
    ['Failed', String(failed)],
    ['Last success', webhook.lastSuccessAt ?? 'never'],
    ['Last failure', webhook.lastFailureAt ?? 'never'],
    ['Created', webhook.createdAt],
  ];
}

export const webhookHeadings = ['ID', 'STATUS', 'WAITING', 'OLDEST', 'FAILED', 'URL', 'DESCRIPTION'];

export function webhookRow(webhook: Webhook): string[] {
  const { id, status, pausedUntil, waiting, failed, url, description = '' } = webhook;
  const shown = pausedUntil !== undefined && status === 'enabled' ? 'paused' : status;
  return [id, shown, String(waiting), oldestOf(webhook) ?? '-', String(failed), url, description];
}

/** How long the oldest delivery has waited. */
function oldestOf({ oldestWaitingAge: seconds }: Webhook): string | undefined {
  return seconds === undefined ? undefined : roughDuration(seconds * 1000);
}
