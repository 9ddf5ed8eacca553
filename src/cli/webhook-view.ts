import type { Members } from './answer-reader.ts';
import type { Field } from './table.ts';
import { roughDuration } from './time.ts';

/** What a webhook is, in the order in which a person asks. */
export function identityFields(webhook: Members): Field[] {
  const rate = webhook.optionalCount('rate');
  return [
    ['ID', webhook.text('id')],
    ['URL', webhook.text('url')],
    ['Description', webhook.optionalText('description')],
    ['Rate', rate === undefined ? undefined : `at most ${rate} attempts per second`],
    ['Public key', webhook.text('publicKey')],
  ];
}

/** How a webhook does. */
export function healthFields(webhook: Members): Field[] {
  const reason = webhook.optionalText('disabledReason');
  const paused = webhook.optionalText('pausedUntil');
  const oldest = oldestOf(webhook);
  return [
    ['Status', webhook.text('status') + (reason === undefined ? '' : `: ${reason}`)],
    ['Paused', paused === undefined ? undefined : `until ${paused}, as the receiver asked`],
    ['Waiting', webhook.count('waiting') + (oldest === undefined ? '' : `, the oldest for ${oldest}`)],
    ['Failed', String(webhook.count('failed'))],
    ['Last success', webhook.optionalText('lastSuccessAt') ?? 'never'],
    ['Last failure', webhook.optionalText('lastFailureAt') ?? 'never'],
    ['Created', webhook.text('createdAt')],
  ];
}

export const webhookHeadings = ['ID', 'STATUS', 'WAITING', 'OLDEST', 'FAILED', 'URL', 'DESCRIPTION'] as const;

/** A webhook in the table of all, under `webhookHeadings`. */
export function webhookRow(webhook: Members): string[] {
  const paused = webhook.optionalText('pausedUntil') !== undefined;
  const status = webhook.text('status');
  return [
    webhook.text('id'),
    paused && status === 'enabled' ? 'paused' : status,
    String(webhook.count('waiting')),
    oldestOf(webhook) ?? '-',
    String(webhook.count('failed')),
    webhook.text('url'),
    webhook.optionalText('description') ?? '',
  ];
}

/** The age of the oldest delivery that waits. */
function oldestOf(webhook: Members): string | undefined {
  const seconds = webhook.optionalCount('oldestWaitingAge');
  return seconds === undefined ? undefined : roughDuration(seconds * 1000);
}
