import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Field } from '../components/field.tsx';
import { FailureNotice } from '../components/notice.tsx';
import { type DraftErrors, type DraftText, fieldOf, readDraft } from '../draft.ts';
import { useForm } from '../form.ts';
import { store } from '../session.ts';
import { toast } from '../toasts.ts';

/** Adds a plant. Shows problems at their field. */
export function PlantForm({ onAdded, onClose }: { onAdded(): void; onClose(): void }) {
  async function save(typed: DraftText, idempotencyKey: string): Promise<void> {
    const draft = readDraft(typed);
    if ('errors' in draft) return;
    const { id, name } = await store().plants.create(draft, { idempotencyKey });
    toast(`${name} was added as plant ${id}.`);
    onClose();
    onAdded();
  }

  const { text, errors, failure, isBusy, element, change, submit } = useForm<DraftText>(
    { name: '', tag: '', id: '' },
    { check, save, fieldOf },
  );
  return (
    <Dialog title="Add a plant" onClose={onClose} isLocked={isBusy.value}>
      <form ref={element} onSubmit={submit} noValidate>
        <FailureNotice failure={failure} />
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
          hint="Leave it empty for the next free one."
          value={text.value.id}
          onInput={change('id')}
          error={errors.value.id}
          inputMode="numeric"
          autocomplete="off"
        />
        <footer>
          <Button onClick={onClose} refusal={isBusy.value ? 'Adding the plant.' : undefined}>
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

function check(typed: DraftText): DraftErrors {
  const draft = readDraft(typed);
  return 'errors' in draft ? draft.errors : {};
}
