import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Checkbox } from '../components/field.tsx';
import { hold } from '../hold.ts';

type ShownOnceProps = {
  title: string;
  what: 'secret' | 'token';
  onClose(): void;
  children: ComponentChildren;
};

/** Shows what cannot be shown again: the dialog stays until the user confirms that they saved it. */
export function ShownOnce({ title, what, onClose, children }: ShownOnceProps) {
  const isSaved = useSignal(false);
  useLayoutEffect(() => (isSaved.value ? undefined : hold()), [isSaved.value]);
  return (
    <Dialog title={title} onClose={onClose} isLocked={!isSaved.value}>
      <div class="dialog-body">
        {children}
        <Checkbox
          label={`I saved the ${what}`}
          isChecked={isSaved.value}
          onChange={(checked) => {
            isSaved.value = checked;
          }}
        />
      </div>
      <footer>
        <Button
          look="primary"
          onClick={onClose}
          refusal={isSaved.value ? undefined : `Save the ${what} first: it cannot be shown again.`}
        >
          Done
        </Button>
      </footer>
    </Dialog>
  );
}
