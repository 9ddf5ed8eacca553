import { type Signal, useSignal } from '@preact/signals';
import { Button } from '../components/button.tsx';
import { Confirm } from '../components/confirm.tsx';
import { Checkbox } from '../components/field.tsx';
import type { Column } from '../components/table.tsx';
import { isGone, sentenceOf } from '../failure.ts';
import { counted, isolated } from '../format.ts';
import { store } from '../session.ts';
import { toast } from '../toasts.ts';

type ChosenPlant = { id: number | bigint; name: string };

/** The ids of the plants that the user has chosen. */
export type Chosen = Signal<ReadonlySet<number | bigint>>;

/** As many concurrent requests as a browser allows to one server (over HTTP/1.1). */
const LANES = 6;

/** A checkbox for each plant that may be deleted. */
export function choiceColumn<Plant extends ChosenPlant>(
  choice: Chosen,
  isOffered: (plant: Plant) => boolean,
): Column<Plant> {
  return {
    title: 'Choose',
    kind: 'choice',
    cell: (plant) =>
      isOffered(plant) && (
        <input
          type="checkbox"
          aria-label={`Choose ${plant.name}, plant ${plant.id}`}
          checked={choice.value.has(plant.id)}
          onChange={(event) => {
            const others = [...choice.value].filter((id) => id !== plant.id);
            choice.value = new Set(event.currentTarget.checked ? [...others, plant.id] : others);
          }}
        />
      ),
  };
}

type BulkDeleteProps = {
  /** Those of this page that may be deleted. */
  plants: readonly ChosenPlant[];
  choice: Chosen;
  onDeleted(): Promise<void>;
};

/** Chooses all plants of a page or none, and deletes those that are chosen, after one confirmation. */
export function BulkDelete({ plants, choice, onDeleted }: BulkDeleteProps) {
  // Back may show another page of the list below the question.
  const asked = useSignal<readonly ChosenPlant[]>([]);
  const chosen = plants.filter(({ id }) => choice.value.has(id));
  const choose = (some: readonly ChosenPlant[], among: readonly ChosenPlant[]) => {
    const others = [...choice.peek()].filter((id) => !among.some((one) => one.id === id));
    choice.value = new Set([...others, ...some.map(({ id }) => id)]);
  };

  async function act(): Promise<void> {
    const doomed = asked.value;
    const failures = await deleteAll(doomed);
    await onDeleted();
    const left = failures.map(({ plant }) => plant);
    choose(left, doomed);
    const deleted = `${counted(doomed.length - left.length, 'plant was', 'plants were')} deleted`;
    const [first] = failures;
    if (first === undefined) return toast(`${deleted}.`);
    asked.value = left;
    const { plant, sentence } = first;
    throw new Error(
      `${deleted}, and ${counted(left.length, 'plant was', 'plants were')} not. ${isolated(plant.name)}, plant ${plant.id}: ${sentence}`,
    );
  }

  return (
    <div class="bulk">
      <Checkbox
        label="Choose all on this page"
        isChecked={chosen.length === plants.length}
        onChange={(isChecked) => choose(isChecked ? plants : [], plants)}
      />
      <Button
        icon="trash"
        refusal={chosen.length === 0 ? 'Choose plants first.' : undefined}
        onClick={() => (asked.value = chosen)}
      >
        {chosen.length === 0 ? 'Delete plants' : `Delete ${counted(chosen.length, 'plant')}`}
      </Button>
      {asked.value.length > 0 && (
        <Confirm
          title={`Delete ${counted(asked.value.length, 'plant')}?`}
          verb="Delete"
          act={act}
          onClose={() => (asked.value = [])}
        >
          <p class="clamped">{asked.value.map(({ name }) => isolated(name)).join(', ')}</p>
          <p>
            This cannot be undone. If you add one again, it is a new plant, and your webhooks announce it.
          </p>
        </Confirm>
      )}
    </div>
  );
}

type Failed = { plant: ChosenPlant; sentence: string };

/** Deletes a few at a time; resolves with those that could not be deleted. */
async function deleteAll(plants: readonly ChosenPlant[]): Promise<Failed[]> {
  // Always of the same user: another one may have signed in before the last of them.
  const own = store().plants;
  const left = [...plants];
  const failures: Failed[] = [];
  async function lane(): Promise<void> {
    for (let plant = left.shift(); plant; plant = left.shift()) {
      try {
        await own.delete(plant.id);
      } catch (error) {
        if (!isGone(error)) failures.push({ plant, sentence: sentenceOf(error) });
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane));
  return failures;
}
