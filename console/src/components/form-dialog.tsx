import type { ComponentChildren } from 'preact';
import type { Form } from '../form.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { FailureNotice } from './notice.tsx';

type FormDialogProps = {
  title: string;
  /** The label of the button. */
  verb: string;
  form: Pick<Form<unknown>, 'element' | 'failure' | 'isBusy' | 'submit'>;
  onClose(): void;
  children: ComponentChildren;
};

/** A form in a dialog, which stays open until it is saved. */
export function FormDialog({ title, verb, form, onClose, children }: FormDialogProps) {
  const { element, failure, isBusy, submit } = form;
  return (
    <Dialog title={title} onClose={onClose} isLocked={isBusy.value}>
      <form ref={element} onSubmit={submit} noValidate>
        <FailureNotice failure={failure} />
        {children}
        <footer>
          <Button onClick={onClose} refusal={isBusy.value ? 'In progress.' : undefined}>
            Cancel
          </Button>
          <Button type="submit" look="primary" isBusy={isBusy.value}>
            {verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
