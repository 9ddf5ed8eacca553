import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Choice } from '../components/field.tsx';
import { FailureNotice } from '../components/notice.tsx';
import { hold } from '../hold.ts';
import { randomKey } from '../keys.ts';

const OVERLAPS = [
  { value: '86400', label: '24 hours' },
  { value: '3600', label: '1 hour' },
  { value: '604800', label: '7 days' },
  { value: '0', label: 'not at all: the old one has leaked' },
];

type RotationProps<Made> = {
  title: string;
  what: 'secret' | 'token';
  rotate(options: { overlap: number; idempotencyKey: string }): Promise<Made>;
  /** The dialog that shows the new one. */
  shown(made: Made): ComponentChildren;
  onClose(): void;
  /** What the rotation does. */
  children: ComponentChildren;
};

/** Replaces a secret or a token by a new one. */
export function Rotation<Made>({ title, what, rotate, shown, onClose, children }: RotationProps<Made>) {
  const overlap = useSignal('86400');
  const made = useSignal<{ value: Made } | undefined>(undefined);
  const failure = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  // The same key on a retry, so that a lost response does not rotate twice.
  const key = useRef(randomKey());

  async function begin(): Promise<void> {
    isBusy.value = true;
    failure.value = undefined;
    // Leaving before the response would lose the new one.
    const release = hold();
    try {
      made.value = {
        value: await rotate({ overlap: Number(overlap.value), idempotencyKey: key.current }),
      };
    } catch (error) {
      failure.value = error;
    } finally {
      release();
      isBusy.value = false;
    }
  }

  if (made.value) return shown(made.value.value);
  return (
    <Dialog title={title} onClose={onClose} isLocked={isBusy.value}>
      <div class="dialog-body">
        <FailureNotice failure={failure} />
        {children}
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
        <Button onClick={onClose} refusal={isBusy.value ? `Rotating the ${what}.` : undefined}>
          Cancel
        </Button>
        <Button look="primary" icon="key" isBusy={isBusy.value} onClick={() => void begin()}>
          Rotate
        </Button>
      </footer>
    </Dialog>
  );
}
