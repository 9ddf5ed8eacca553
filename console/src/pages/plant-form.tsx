import { Field } from '../components/field.tsx';
import { FormDialog } from '../components/form-dialog.tsx';
import { type DraftErrors, type DraftText, fieldOf, readDraft } from '../draft.ts';
import { useForm } from '../form.ts';
import { isolated } from '../format.ts';
import { go } from '../router.ts';
import { store } from '../session.ts';
import { toast } from '../toasts.ts';

/** Adds a plant. Shows problems at their field. */
export function PlantForm({ onAdded, onClose }: { onAdded(): Promise<void>; onClose(): void }) {
  async function save(typed: DraftText, idempotencyKey: string): Promise<void> {
    const draft = readDraft(typed);
    if ('errors' in draft) return;
    const { id, name } = await store().plants.create(draft, { idempotencyKey });
    // The button that opened the form may disappear with the first plant.
    await onAdded();
    onClose();
    toast(`${isolated(name)} was added as plant ${id}.`, { action: { label: 'Show', run: () => show(id) } });
  }

  const form = useForm<DraftText>({ name: '', tag: '', id: '' }, { check, save, fieldOf });
  return (
    <FormDialog title="Add a plant" verb="Add" form={form} onClose={onClose}>
      <Field label="Name" {...form.field('name')} autofocus />
      <Field label="Tag" isOptional {...form.field('tag')} />
      <Field
        label="Id"
        isOptional
        hint="Leave it empty for the next free one."
        inputMode="numeric"
        {...form.field('id')}
      />
    </FormDialog>
  );
}

/** Also where the list is open at another page. */
function show(id: number | bigint): void {
  go('/plants', { from: String(id) });
}

function check(typed: DraftText): DraftErrors {
  const draft = readDraft(typed);
  return 'errors' in draft ? draft.errors : {};
}
