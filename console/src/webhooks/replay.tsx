import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { Webhook } from '../../../packages/client/src/client.ts';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Choice, Field } from '../components/field.tsx';
import { FailureNotice } from '../components/notice.tsx';
import { counted } from '../format.ts';
import { randomKey } from '../keys.ts';
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
  { value: 'failed', label: 'only what failed' },
  { value: 'delivered', label: 'only what was delivered' },
];

type ReplayProps = {
  webhook: Webhook;
  /** The initial choice of hours back: one of `SINCE`. */
  hoursBack?: (typeof SINCE)[number]['value'];
  onChanged(): void;
  onClose(): void;
};

/** Resends what happened since a time. */
export function Replay({ webhook: { id }, hoursBack = '24', onChanged, onClose }: ReplayProps) {
  const hours = useSignal<string>(hoursBack);
  const at = useSignal('');
  const what = useSignal('failed');
  const wrong = useSignal<string | undefined>(undefined);
  const failure = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  // The same key on a retry, so that a lost response does not start a second replay.
  const request = useRef<{ since: Date; key: string }>(undefined);

  const choose = (field: typeof hours) => (value: string) => {
    field.value = value;
    request.current = undefined;
  };

  async function replay(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (isBusy.value) return;
    request.current ??= { since: sinceOf(hours.value, at.value), key: randomKey() };
    const { since, key } = request.current;
    wrong.value = Number.isNaN(since.getTime()) ? 'Choose a day and a time.' : undefined;
    failure.value = undefined;
    if (wrong.value !== undefined) return;
    isBusy.value = true;
    try {
      const state = STATES.find((one) => one === what.value);
      const { count } = await store().webhooks.replay(
        id,
        { since, ...(state ? { state } : {}) },
        { idempotencyKey: key },
      );
      toast(`${counted(count, 'event is', 'events are')} sent again.`);
      onChanged();
      onClose();
    } catch (error) {
      failure.value = error;
    } finally {
      isBusy.value = false;
    }
  }

  return (
    <Dialog title="Replay" onClose={onClose} isLocked={isBusy.value}>
      <form onSubmit={replay} noValidate>
        <FailureNotice failure={failure} />
        <p>Receivers that deduplicate by event id process nothing twice.</p>
        <Choice label="Send again" value={what.value} options={WHAT} onChange={choose(what)} autofocus />
        <Choice label="Since" value={hours.value} options={SINCE} onChange={choose(hours)} />
        {hours.value === '' && (
          <Field
            label="Day and time"
            type="datetime-local"
            value={at.value}
            onInput={choose(at)}
            error={wrong.value}
          />
        )}
        <footer>
          <Button onClick={onClose} refusal={isBusy.value ? 'Starting the replay.' : undefined}>
            Cancel
          </Button>
          <Button type="submit" look="primary" icon="refresh" isBusy={isBusy.value}>
            Replay
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function sinceOf(hours: string, at: string): Date {
  return hours === '' ? new Date(at) : new Date(Date.now() - Number(hours) * HOUR);
}
