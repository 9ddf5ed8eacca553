import { PlantStoreError } from '../../packages/client/src/client.ts';
import { columnsOf, type Draft, rowOf } from '../../src/import/rows.ts';
import { codeOf } from './failure.ts';

/** The text in the form for a plant. */
export type DraftText = { id: string; name: string; tag: string };

export type DraftErrors = Partial<Record<keyof DraftText, string>>;

const columns = columnsOf(['id', 'name', 'tag']);

/** The plant in the form, or what is wrong with each field, by the rules of the service. */
export function readDraft({ id, name, tag }: DraftText): Draft | { errors: DraftErrors } {
  const errors: DraftErrors = {
    ...(name === '' ? { name: 'Enter a name.' } : problem('name', ['', name, ''])),
    ...problem('tag', ['', 'x', tag]),
    ...problem('id', [id, 'x', '']),
  };
  if (Object.keys(errors).length > 0) return { errors };
  const row = rowOf(columns, { line: 1, cells: [id, name, tag] });
  return 'draft' in row ? row.draft : { errors: { name: row.problem } };
}

/** The id in a field that filters a list, if it is one, and otherwise what is wrong with it. */
export function readId(typed: string): { id?: string; error?: string } {
  const id = typed.trim();
  if (id === '') return {};
  return problem('id', [id, 'x', '']).id === undefined
    ? { id }
    : { error: 'An id is an integer, such as 7.' };
}

function problem(field: keyof DraftText, cells: string[]): DraftErrors {
  const row = rowOf(columns, { line: 1, cells });
  return 'problem' in row ? { [field]: row.problem } : {};
}

/** The field that a refusal of the service concerns, if any. */
export function fieldOf(error: unknown): keyof DraftText | undefined {
  if (codeOf(error) === 40900) return 'id';
  if (codeOf(error) !== 40002 || !(error instanceof PlantStoreError)) return undefined;
  const [, field] = /\b(id|name|tag)\b/.exec(error.message) ?? [];
  return field === 'id' || field === 'name' || field === 'tag' ? field : undefined;
}
