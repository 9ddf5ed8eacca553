import type { Webhook } from '../../../packages/client/src/client.ts';
import { Choice, Field } from '../components/field.tsx';
import { FormDialog } from '../components/form-dialog.tsx';
import { serviceNow } from '../connection.ts';
import { type FieldErrors, useForm } from '../form.ts';
import { counted } from '../format.ts';
import { store } from '../session.ts';
import { toast } from '../toasts.ts';

const HOUR = 3_600_000;
const SINCE = [
  { value: '1', label: 'the last hour' },
  { value: '24', label: 'the last 24 hours' },
  { value: '168', label: 'the last 7 days' },
  { value: '720', label: 'the last 30 days' },
  { value: '', label: 'a time of your choice' },
] as const;
const STATES = ['failed', 'delivered'] as const;
const WHAT = [
  { value: '', label: 'every event, including delivered ones' },
  { value: 'failed', label: 'only what failed for good' },
  { value: 'delivered', label: 'only what was delivered' },
];

type ReplayProps = {
  webhook: Webhook;
  /** The initial choice of hours back: one of `SINCE`. */
  hoursBack?: (typeof SINCE)[number]['value'];
  onChanged(): void;
  onClose(): void;
};

/** `hours`: how many back, or empty for the time `at`. */
type ReplayText = { what: string; hours: string; at: string };

/**
 * A retry sends the same time with the same key, so that a lost response does not start a second replay. Outside of the
 * form, whose key is there again when the session ends and the same user signs in.
 */
let begun: { idempotencyKey: string; since: Date } | undefined;

/** Resends what happened since a time. */
export function Replay({ webhook: { id }, hoursBack = '24', onChanged, onClose }: ReplayProps) {
  async function save({ what, hours, at }: ReplayText, idempotencyKey: string): Promise<void> {
    if (begun?.idempotencyKey !== idempotencyKey) begun = { idempotencyKey, since: sinceOf(hours, at) };
    const { since } = begun;
    const state = STATES.find((one) => one === what);
    const { count } = await store().webhooks.replay(
      id,
      { since, ...(state ? { state } : {}) },
      { idempotencyKey },
    );
    toast(count > 0 ? `${counted(count, 'event', 'events')} will be sent again.` : nothing(state));
    onChanged();
    onClose();
  }

  const before: ReplayText = { what: 'failed', hours: hoursBack, at: '' };
  const form = useForm(before, { check, save, fieldOf: () => undefined });
  const { what, hours } = form.text.value;
  return (
    <FormDialog title="Replay" verb="Replay" form={form} onClose={onClose}>
      <p>Receivers that deduplicate by event id process nothing twice.</p>
      <Choice label="Send again" value={what} options={WHAT} onChange={form.change('what')} autofocus />
      <Choice label="Since" value={hours} options={SINCE} onChange={form.change('hours')} />
      {hours === '' && <Field label="Day and time" type="datetime-local" {...form.field('at')} />}
    </FormDialog>
  );
}

function nothing(state: (typeof STATES)[number] | undefined): string {
  if (state === undefined) return 'Nothing happened since then.';
  return state === 'failed' ? 'Nothing failed for good since then.' : 'Nothing was delivered since then.';
}

function check({ hours, at }: ReplayText): FieldErrors<ReplayText> {
  return Number.isNaN(sinceOf(hours, at).getTime()) ? { at: 'Choose a day and a time.' } : {};
}

function sinceOf(hours: string, at: string): Date {
  return hours === '' ? new Date(at) : new Date(serviceNow() - Number(hours) * HOUR);
}
