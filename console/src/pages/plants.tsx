import { useSignal } from '@preact/signals';
import type { PlantField, PlantListOptions } from '../../../packages/client/src/client.ts';
import { Badge } from '../components/badge.tsx';
import { AddButton, Button, ButtonLink, IconButton, IconLink } from '../components/button.tsx';
import { Confirm } from '../components/confirm.tsx';
import { Choice, Field } from '../components/field.tsx';
import { Page } from '../components/page.tsx';
import { LAST, Pager, pageFromEnd } from '../components/pager.tsx';
import { Empty, Loaded, NothingHere } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { readId } from '../draft.ts';
import { codeOf } from '../failure.ts';
import { counted, isolated } from '../format.ts';
import { BulkDelete, type Chosen, choiceColumn } from '../plants/bulk-delete.tsx';
import { ExportButton } from '../plants/export.tsx';
import { useResource } from '../resource.ts';
import { focusHeading, href, place, refine } from '../router.ts';
import { may, refusalFor, session, store } from '../session.ts';
import { toast } from '../toasts.ts';
import { PlantForm } from './plant-form.tsx';

/** Enough to look through; more would be slow to render on a phone. */
const PAGE = 50;
const ORDERS = [
  { value: '', label: 'By id' },
  { value: 'desc', label: 'Highest id first' },
];

type ListedPlant = { id: number | bigint; name: string; tag?: string; owner: string };

/** The plants that the user has access to: their own, then those that others share with them. */
export function Plants() {
  const { query } = place.value;
  const isAdding = useSignal(false);
  const doomed = useSignal<ListedPlant | undefined>(undefined);
  const chosen: Chosen = useSignal(new Set());
  const text = (name: string) => query.get(name) ?? undefined;
  const [name, cursor] = [text('name'), text('cursor')];
  const order = text('order') === 'desc' ? ('desc' as const) : undefined;
  const wanted = { name, order, from: readId(text('from') ?? '').id };
  const fromEnd = pageFromEnd(query);
  const plants = useResource(JSON.stringify([wanted, cursor, fromEnd]), (signal) =>
    fromEnd === undefined
      ? store().plants.page({ ...wanted, limit: PAGE, cursor, signal })
      : loadFromEnd(wanted, fromEnd, signal),
  );
  const { isStale } = plants;
  const { value } = plants.state.value;
  const refusal = refusalFor('plants:write');

  const isFiltered = (name ?? wanted.from) !== undefined;
  const isEmpty =
    !isStale && value?.items.length === 0 && !isFiltered && (value.next ?? cursor) === undefined;
  const imports =
    refusal === undefined ? (
      <ButtonLink href={href('/plants/import')} icon="upload">
        Import
      </ButtonLink>
    ) : (
      <Button icon="upload" refusal={refusal}>
        Import
      </Button>
    );
  const add = <AddButton label="Add a plant" refusal={refusal} onClick={() => (isAdding.value = true)} />;
  return (
    <Page
      title="Plants"
      lead="Yours and those that others share with you."
      actions={
        !isEmpty && (
          <>
            <ExportButton query={wanted} />
            {imports}
            {add}
          </>
        )
      }
    >
      <PlantFilters />
      {/* Always rendered, so that its text is read out when it appears. */}
      <p role="status" class="hidden">
        {isFiltered && !isStale && cursor === undefined && value && foundText(value)}
      </p>
      <Loaded resource={plants} what="plants">
        {({ items, next }) => {
          if (items.length > 0) {
            const own = items.filter(isOwn);
            const mayDelete = refusal === undefined && own.length > 0;
            return (
              <>
                {mayDelete && <BulkDelete plants={own} choice={chosen} onDeleted={plants.reload} />}
                <Table
                  caption="Plants"
                  columns={[
                    ...(mayDelete ? [choiceColumn(chosen, isOwn)] : []),
                    ...columns(refusal, (plant) => (doomed.value = plant)),
                  ]}
                  rows={items}
                  keyOf={({ owner, id }) => `${owner} ${id}`}
                />
              </>
            );
          }
          if (next ?? (fromEnd === 1 ? undefined : cursor))
            return <NothingHere icon="plants" what="plants" />;
          // What comes next is not known yet: it need not be an empty list.
          if (isFiltered || isStale) return <NoMatch />;
          return (
            <Empty icon="plants" title="No plants yet" actions={[add, imports]}>
              Add the first one, or import a file of them. Your webhooks announce every new plant.
            </Empty>
          );
        }}
      </Loaded>
      <Pager list={plants} hasLast />
      {isAdding.value && <PlantForm onAdded={plants.reload} onClose={() => (isAdding.value = false)} />}
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

/** What a search has found, for a screen reader. */
function foundText({ items, next }: { items: readonly unknown[]; next: string | undefined }): string {
  const found = `${counted(items.length, 'plant')} found.`;
  if (next !== undefined) return `More than ${found}`;
  return items.length === 0 ? 'No plant matches.' : found;
}

/** The API leads to the last plants, not to a page before them: that page is the first part of more of them. */
async function loadFromEnd(query: PlantListOptions<PlantField>, page: number, signal: AbortSignal) {
  const { items } = await store().plants.page({ ...query, limit: PAGE * page + 1, cursor: LAST, signal });
  const rest = items.slice(-PAGE * page);
  const shown = rest.slice(0, Math.max(0, rest.length - PAGE * (page - 1)));
  return { items: shown, next: undefined, hasBefore: items.length > rest.length };
}

function isOwn({ owner }: ListedPlant): boolean {
  return owner === session.value?.user;
}

function columns(refusal: string | undefined, remove: (plant: ListedPlant) => void): Column<ListedPlant>[] {
  return [
    { title: 'Name', kind: 'name', cell: ({ name }) => <bdi>{name}</bdi> },
    { title: 'Tag', cell: ({ tag }) => tag && <bdi>{tag}</bdi> },
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
          <>
            {may('webhooks:read') && (
              <IconLink
                icon="deliveries"
                label={`Deliveries of ${plant.name}, plant ${plant.id}`}
                href={href('/deliveries', { state: 'all', plant: String(plant.id) })}
              />
            )}
            <IconButton
              icon="trash"
              label={`Delete ${plant.name}, plant ${plant.id}`}
              refusal={refusal}
              onClick={() => remove(plant)}
            />
          </>
        ),
    },
  ];
}

function PlantFilters() {
  const { query } = place.value;
  const name = query.get('name') ?? '';
  return (
    <div class="filters">
      <Field
        label="Search"
        placeholder="Beginning of a name"
        type="search"
        aria-keyshortcuts="/"
        value={name}
        onInput={(text) => refine({ name: text || undefined, order: undefined, from: undefined })}
      />
      {name === '' && (
        <>
          <Field
            label="Jump to"
            placeholder="Id"
            type="search"
            inputMode="numeric"
            value={query.get('from') ?? ''}
            error={readId(query.get('from') ?? '').error}
            onInput={(from) => refine({ from: from || undefined })}
          />
          <Choice
            label="Order"
            value={query.get('order') ?? ''}
            options={ORDERS}
            onChange={(order) => refine({ order: order || undefined })}
          />
        </>
      )}
    </div>
  );
}

function NoMatch() {
  const showAll = () => {
    refine({ name: undefined, from: undefined });
    focusHeading();
  };
  return (
    <Empty
      icon="plants"
      title="No plant matches"
      actions={<Button onClick={showAll}>Show all plants</Button>}
    >
      {place.value.query.has('name') && 'The search finds plants by the beginning of their name.'}
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
    let outcome = 'was deleted';
    try {
      await store().plants.delete(id);
    } catch (error) {
      if (codeOf(error) !== 40401) throw error;
      outcome = 'was already gone';
    }
    await onDeleted();
    // Not before: nothing below an open dialog is read out.
    toast(`${isolated(name)} ${outcome}.`);
  }
  return (
    <Confirm title={`Delete ${isolated(name)}?`} verb="Delete" act={act} onClose={onClose}>
      <dl class="facts">
        <dt>Name</dt>
        <dd>
          <bdi>{name}</bdi>
        </dd>
        {tag !== undefined && <dt>Tag</dt>}
        {tag !== undefined && (
          <dd>
            <bdi>{tag}</bdi>
          </dd>
        )}
        <dt>Id</dt>
        <dd class="number">{String(id)}</dd>
      </dl>
      <p>This cannot be undone. If you add it again, it is a new plant, and your webhooks announce it.</p>
    </Confirm>
  );
}
