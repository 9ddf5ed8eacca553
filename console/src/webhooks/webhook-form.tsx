import { Field } from '../components/field.tsx';
import { FormDialog } from '../components/form-dialog.tsx';
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
export function WebhookForm({ title, verb, text, save, onClose }: WebhookFormProps) {
  const form = useForm(text, { check: errorsOf, save, fieldOf: refusedField });
  return (
    <FormDialog title={title} verb={verb} form={form} onClose={onClose}>
      <Field
        label="URL"
        hint="Every new plant is sent there by POST."
        type="url"
        inputMode="url"
        placeholder="https://example.com/plants"
        {...form.field('url')}
        autofocus
      />
      <Field label="Description" isOptional {...form.field('description')} />
      <Field
        label="Rate"
        isOptional
        hint="The most attempts per second. Empty means unlimited."
        inputMode="numeric"
        {...form.field('rate')}
      />
    </FormDialog>
  );
}
