import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Field } from '../components/field.tsx';
import { Notice } from '../components/notice.tsx';
import { type DraftErrors, type DraftText, fieldOf, readDraft } from '../draft.ts';
import { sentenceOf } from '../failure.ts';
import { randomKey } from '../keys.ts';
import { store } from '../session.ts';
import { toast } from '../toasts.ts';

/** Adds a plant; what is wrong with it is said where it was typed. */
export function PlantForm({ onAdded, onClose }: { onAdded(): void; onClose(): void }) {
  const text = useSignal<DraftText>({ name: '', tag: '', id: '' });
  const errors = useSignal<DraftErrors>({});
  const failure = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  // Pressed again after an answer was lost, the button adds no second plant.
  const key = useRef(randomKey());

  const change = (field: keyof DraftText) => (value: string) => {
    text.value = { ...text.value, [field]: value };
    errors.value = { ...errors.value, [field]: undefined };
    key.current = randomKey();
  };

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (isBusy.value) return;
    const draft = readDraft(text.value);
    failure.value = undefined;
    if ('errors' in draft) return show(draft.errors);
    isBusy.value = true;
    try {
      const { id, name } = await store().plants.create(draft, { idempotencyKey: key.current });
      toast(`${name} was added as plant ${id}.`);
      onClose();
      onAdded();
    } catch (error) {
      const field = fieldOf(error);
      if (field) show({ [field]: sentenceOf(error) });
      else failure.value = error;
    } finally {
      isBusy.value = false;
    }
  }

  /** And leads to the first field that needs it. */
  function show(found: DraftErrors): void {
    errors.value = found;
    queueMicrotask(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  }

  return (
    <Dialog title="Add a plant" onClose={onClose} isLocked={isBusy.value}>
      <form ref={form} onSubmit={submit} noValidate>
        {failure.value !== undefined && <Notice kind="bad">{sentenceOf(failure.value)}</Notice>}
        <Field
          label="Name"
          value={text.value.name}
          onInput={change('name')}
          error={errors.value.name}
          autocomplete="off"
          autofocus
        />
        <Field
          label="Tag"
          isOptional
          value={text.value.tag}
          onInput={change('tag')}
          error={errors.value.tag}
          autocomplete="off"
        />
        <Field
          label="Id"
          isOptional
          hint="Without one the plant gets the next that is free."
          value={text.value.id}
          onInput={change('id')}
          error={errors.value.id}
          inputMode="numeric"
          autocomplete="off"
        />
        <footer>
          <Button onClick={onClose} refusal={isBusy.value ? 'It is being added.' : undefined}>
            Cancel
          </Button>
          <Button type="submit" look="primary" isBusy={isBusy.value}>
            Add
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
