import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { reporter } from '../session.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { FailureNotice } from './notice.tsx';

type ConfirmProps = {
  title: string;
  /** What will be lost, and what will not. */
  children: ComponentChildren;
  /** The verb, as on the button that opened the dialog. */
  verb: string;
  /** Resolves when done. If it throws, the error is shown and the dialog stays. */
  act(): Promise<void>;
  onClose(): void;
};

/** Asks for confirmation before something that cannot be undone. */
export function Confirm({ title, children, verb, act, onClose }: ConfirmProps) {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const body = useRef<HTMLDivElement>(null);
  async function confirm(): Promise<void> {
    const report = reporter();
    isBusy.value = true;
    error.value = undefined;
    try {
      await act();
      onClose();
    } catch (failure) {
      error.value = failure;
      // Back closes the dialog, too.
      if (body.current === null) report(failure);
      isBusy.value = false;
    }
  }
  return (
    <Dialog title={title} onClose={onClose} isLocked={isBusy.value}>
      <div class="dialog-body" ref={body}>
        {children}
      </div>
      <FailureNotice failure={error} />
      <footer>
        <Button onClick={onClose} autofocus {...(isBusy.value ? { refusal: 'In progress.' } : {})}>
          Cancel
        </Button>
        <Button look="danger" onClick={() => void confirm()} isBusy={isBusy.value}>
          {verb}
        </Button>
      </footer>
    </Dialog>
  );
}
