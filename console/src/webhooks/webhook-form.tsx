import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Field } from '../components/field.tsx';
import { FailureNotice } from '../components/notice.tsx';
import { useForm } from '../form.ts';
import { errorsOf, refusedField, type WebhookText } from '../webhook-draft.ts';

type WebhookFormProps = {
  title: string;
  /** The label of the button. */
  verb: string;
  text: WebhookText;
  /** Resolves when it is saved. If it throws, the error is shown at its field. */
  save(text: WebhookText, key: string): Promise<void>;
  onClose(): void;
};

/** The members of a webhook that its owner chooses. */
export function WebhookForm({ title, verb, text: before, save, onClose }: WebhookFormProps) {
  const { text, errors, failure, isBusy, element, change, submit } = useForm(before, {
    check: errorsOf,
    save,
    fieldOf: refusedField,
  });

  return (
    <Dialog title={title} onClose={onClose} isLocked={isBusy.value}>
      <form ref={element} onSubmit={submit} noValidate>
        <FailureNotice failure={failure} />
        <Field
          label="URL"
          hint="Every new plant is sent there by POST."
          type="url"
          inputMode="url"
          placeholder="https://example.com/plants"
          value={text.value.url}
          onInput={change('url')}
          error={errors.value.url}
          autocomplete="off"
          autofocus
        />
        <Field
          label="Description"
          isOptional
          value={text.value.description}
          onInput={change('description')}
          error={errors.value.description}
          autocomplete="off"
        />
        <Field
          label="Rate"
          isOptional
          hint="The most attempts per second. Empty means unlimited."
          value={text.value.rate}
          onInput={change('rate')}
          error={errors.value.rate}
          inputMode="numeric"
          autocomplete="off"
        />
        <footer>
          <Button onClick={onClose} refusal={isBusy.value ? 'Saving.' : undefined}>
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
