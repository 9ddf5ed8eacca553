import { useSignal } from '@preact/signals';
import { Badge } from '../components/badge.tsx';
import { Button, ButtonLink, IconButton } from '../components/button.tsx';
import { Confirm } from '../components/confirm.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { codeOf } from '../failure.ts';
import { positionIn } from '../pages-of-list.ts';
import { useResource } from '../resource.ts';
import { href } from '../router.ts';
import { may, session, store } from '../session.ts';
import { toast } from '../toasts.ts';
import { PlantForm } from './plant-form.tsx';

/** Enough to look through; more would be slow to render on a phone. */
const PAGE = 50;

type ListedPlant = { id: number | bigint; name: string; tag?: string; owner: string };

/** The plants that the user has access to: their own, then those that others share with them. */
export function Plants() {
  const position = positionIn('plants');
  const isAdding = useSignal(false);
  const doomed = useSignal<ListedPlant | undefined>(undefined);
  const cursor = position.value.cursors.at(-1);
  const plants = useResource(`from ${cursor ?? 'the first'}`, (signal) =>
    store().plants.page({ limit: PAGE, cursor, signal }),
  );
  const { value, isLoading } = plants.state.value;
  const refusal = may('plants:write') ? undefined : 'Your token lacks the scope plants:write.';

  const actions = (
    <>
      {refusal === undefined && (
        <ButtonLink href={href('/plants/import')} icon="upload">
          Import
        </ButtonLink>
      )}
      <Button look="primary" icon="add" refusal={refusal} onClick={() => (isAdding.value = true)}>
        Add a plant
      </Button>
    </>
  );
  return (
    <Page title="Plants" lead="Yours and those that others share with you." actions={actions}>
      <Loaded resource={plants} what="plants">
        {({ items }) =>
          items.length > 0 ? (
            <Table
              caption="Plants"
              columns={columns(refusal, (plant) => (doomed.value = plant))}
              rows={items}
              keyOf={({ owner, id }) => `${owner} ${id}`}
            />
          ) : (
            <NoPlants isBeyond={cursor !== undefined} />
          )
        }
      </Loaded>
      <Pager position={position} next={value?.next} isLoading={isLoading} />
      {isAdding.value && (
        <PlantForm onAdded={() => void plants.reload()} onClose={() => (isAdding.value = false)} />
      )}
      {doomed.value && (
        <DeletePlant
          plant={doomed.value}
          onDeleted={plants.reload}
          onClose={() => (doomed.value = undefined)}
        />
      )}
    </Page>
  );
}

function columns(refusal: string | undefined, remove: (plant: ListedPlant) => void): Column<ListedPlant>[] {
  const isOwn = ({ owner }: ListedPlant) => owner === session.value?.user;
  return [
    { title: 'Name', kind: 'name', cell: ({ name }) => name },
    { title: 'Tag', cell: ({ tag }) => tag },
    { title: 'Id', kind: 'number', cell: ({ id }) => String(id) },
    {
      title: 'Owner',
      cell: (plant) =>
        isOwn(plant) ? (
          <span class="muted">you</span>
        ) : (
          <Badge kind="info" icon="share">
            shared by {plant.owner}
          </Badge>
        ),
    },
    {
      title: 'Actions',
      kind: 'actions',
      cell: (plant) =>
        isOwn(plant) && (
          <IconButton
            icon="trash"
            label={`Delete ${plant.name}, plant ${plant.id}`}
            refusal={refusal}
            onClick={() => remove(plant)}
          />
        ),
    },
  ];
}

function NoPlants({ isBeyond }: { isBeyond: boolean }) {
  if (isBeyond) return <Empty icon="plants" title="No more plants here" />;
  return (
    <Empty icon="plants" title="No plants yet">
      Add the first one, or import a file of them. Your webhooks announce every new plant.
    </Empty>
  );
}

type DeleteProps = { plant: ListedPlant; onDeleted(): Promise<void>; onClose(): void };

/**
 * Asks first. An undo afterwards would have to delay the deletion, or add the plant again, which webhooks would
 * announce as new.
 */
function DeletePlant({ plant: { id, name, tag }, onDeleted, onClose }: DeleteProps) {
  async function act(): Promise<void> {
    try {
      await store().plants.delete(id);
      toast(`${name} was deleted.`);
    } catch (error) {
      if (codeOf(error) !== 40401) throw error;
      toast(`${name} was already gone.`);
    }
    await onDeleted();
  }
  return (
    <Confirm title={`Delete ${name}?`} verb="Delete" act={act} onClose={onClose}>
      <dl class="facts">
        <dt>Name</dt>
        <dd>{name}</dd>
        {tag !== undefined && <dt>Tag</dt>}
        {tag !== undefined && <dd>{tag}</dd>}
        <dt>Id</dt>
        <dd class="number">{String(id)}</dd>
      </dl>
      <p>This cannot be undone. If you add it again, it is a new plant, and your webhooks announce it.</p>
    </Confirm>
  );
}
