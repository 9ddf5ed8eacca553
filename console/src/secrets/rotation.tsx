import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Choice } from '../components/field.tsx';
import { FormDialog } from '../components/form-dialog.tsx';
import { useForm } from '../form.ts';
import { hold } from '../hold.ts';

const NONE = '0';
const OVERLAPS = [
  { value: '86400', label: '24 hours' },
  { value: '3600', label: '1 hour' },
  { value: '604800', label: '7 days' },
  { value: NONE, label: 'no time: the old one has leaked' },
];

type RotationProps<Made> = {
  title: string;
  rotate(options: { overlap: number; idempotencyKey: string }): Promise<Made>;
  /** The dialog that shows the new one. `isKept`: the old one works for a while. */
  shown(made: Made, isKept: boolean): ComponentChildren;
  onClose(): void;
  /** What the rotation does. */
  children: ComponentChildren;
};

/** Replaces a secret or a token by a new one. */
export function Rotation<Made>({ title, rotate, shown, onClose, children }: RotationProps<Made>) {
  const made = useSignal<{ value: Made } | undefined>(undefined);
  const form = useForm(
    { overlap: '86400' },
    {
      check: () => ({}),
      fieldOf: () => undefined,
      async save({ overlap }, idempotencyKey) {
        // Leaving before the response would lose the new one.
        const release = hold();
        try {
          made.value = { value: await rotate({ overlap: Number(overlap), idempotencyKey }) };
        } finally {
          release();
        }
      },
    },
  );
  const { overlap } = form.text.value;

  if (made.value) return shown(made.value.value, overlap !== NONE);
  return (
    <FormDialog title={title} verb="Rotate" form={form} onClose={onClose}>
      {children}
      <Choice
        label="The old one keeps working for"
        value={overlap}
        options={OVERLAPS}
        onChange={form.change('overlap')}
        autofocus
      />
    </FormDialog>
  );
}
