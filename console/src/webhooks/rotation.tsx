import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { RotatedSecret, Webhook } from '../../../packages/client/src/client.ts';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Choice } from '../components/field.tsx';
import { Notice } from '../components/notice.tsx';
import { sentenceOf } from '../failure.ts';
import { dateAndTime } from '../format.ts';
import { hold } from '../hold.ts';
import { randomKey } from '../keys.ts';
import { store } from '../session.ts';
import { NewSecret } from './new-secret.tsx';

const OVERLAPS = [
  { value: '86400', label: '24 hours' },
  { value: '3600', label: '1 hour' },
  { value: '604800', label: '7 days' },
  { value: '0', label: 'not at all: the old one has leaked' },
];

/** Creates a new secret and shows it. */
export function Rotation({ webhook: { id, publicKey }, onClose }: { webhook: Webhook; onClose(): void }) {
  const overlap = useSignal('86400');
  const made = useSignal<RotatedSecret | undefined>(undefined);
  const failure = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  // The same key on a retry, so that a lost response does not create a third secret.
  const key = useRef(randomKey());

  async function rotate(): Promise<void> {
    isBusy.value = true;
    failure.value = undefined;
    // Leaving before the response would lose the secret.
    const release = hold();
    try {
      made.value = await store().webhooks.rotateSecret(id, {
        overlap: Number(overlap.value),
        idempotencyKey: key.current,
      });
    } catch (error) {
      failure.value = error;
    } finally {
      release();
      isBusy.value = false;
    }
  }

  if (made.value) {
    return (
      <NewSecret title="The new secret" secret={made.value.secret} publicKey={publicKey} onClose={onClose}>
        <p>The old one also signs until {dateAndTime(made.value.overlapUntil)}.</p>
      </NewSecret>
    );
  }
  return (
    <Dialog title="Rotate the secret" onClose={onClose} isLocked={isBusy.value}>
      <div class="dialog-body">
        {failure.value !== undefined && <Notice kind="bad">{sentenceOf(failure.value)}</Notice>}
        <p>
          The new secret takes effect at once. While both sign, your receiver still accepts the old one, so
          you have time to replace it there.
        </p>
        <Choice
          label="Keep the old one for"
          value={overlap.value}
          options={OVERLAPS}
          onChange={(value) => {
            overlap.value = value;
            key.current = randomKey();
          }}
          autofocus
        />
      </div>
      <footer>
        <Button onClick={onClose} refusal={isBusy.value ? 'Rotating the secret.' : undefined}>
          Cancel
        </Button>
        <Button look="primary" icon="key" isBusy={isBusy.value} onClick={() => void rotate()}>
          Rotate
        </Button>
      </footer>
    </Dialog>
  );
}
