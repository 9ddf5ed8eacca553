import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { hasFailedLast } from '../../../packages/client/src/attention.ts';
import type { DeliveryState, Webhook } from '../../../packages/client/src/client.ts';
import { Button, ButtonLink } from '../components/button.tsx';
import { Checkbox, Choice, Field } from '../components/field.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { DeliveryList } from '../deliveries/delivery-list.tsx';
import { readId } from '../draft.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { href, place, refine } from '../router.ts';
import { store } from '../session.ts';
import { nameOf, shownDelivery } from '../webhook-state.ts';
import '../styles/deliveries.css';

const REFRESH_MS = 10_000;
const STATES = ['pending', 'held', 'delivered', 'failed'] as const;
/** In the address; without a state the list opens on what fails. */
const ALL = 'all';

/** The deliveries of all webhooks, or of one, live. */
export function Deliveries() {
  const webhooks = useResource('webhooks', (signal) => store().webhooks.list({ signal }));
  useRefresh(webhooks, REFRESH_MS);
  return (
    <Page title="Deliveries" lead="What was sent to your webhooks and what is waiting, newest first.">
      <Loaded resource={webhooks} what="webhooks">
        {(list) => {
          const wanted = place.value.query.get('webhook');
          const chosen = list.filter(({ id }) => wanted === null || id === wanted);
          if (chosen.length > 0) return <Filtered webhooks={list} chosen={chosen} />;
          return list.length > 0 ? <NoSuchWebhook /> : <NoWebhooks />;
        }}
      </Loaded>
    </Page>
  );
}

type FilteredProps = { webhooks: readonly Webhook[]; chosen: readonly Webhook[] };

function Filtered({ webhooks, chosen }: FilteredProps) {
  const isLive = useSignal(true);
  const { query } = place.value;
  const asked = query.get('state');
  // Who looks for a plant or a time wants all that there is of it.
  const isNarrowed = ['plant', 'since', 'until'].some((name) => query.has(name));
  // A refresh of the webhooks turns to no other list while somebody reads.
  const failing = useMemo(() => failingState(chosen), [query.get('webhook')]);
  const preset = isNarrowed ? undefined : failing;
  const state = asked === null ? preset : STATES.find((one) => one === asked);
  return (
    <>
      <div class="filters">
        <Filters webhooks={webhooks} state={state} />
        <Checkbox
          label="Live"
          isChecked={isLive.value}
          onChange={(isOn) => {
            isLive.value = isOn;
          }}
        />
      </div>
      <DeliveryList
        webhooks={chosen}
        isLive={isLive.value}
        filter={{
          webhook: query.get('webhook') ?? undefined,
          state,
          plant: readId(query.get('plant') ?? '').id,
          since: instant(query.get('since')),
          until: instant(query.get('until')),
        }}
      />
    </>
  );
}

type FiltersProps = { webhooks: readonly Webhook[]; state: DeliveryState | undefined };

function Filters({ webhooks, state }: FiltersProps) {
  const { query } = place.value;
  const hasTimes = useSignal(false);
  const isTimed = hasTimes.value || query.has('since') || query.has('until');
  const text = (name: string) => query.get(name) ?? '';
  const change = (name: string) => (value: string) => {
    // A field stays while it is emptied.
    hasTimes.value = isTimed;
    refine({ [name]: value || undefined });
  };
  const toggleTimes = () => {
    hasTimes.value = !isTimed;
    if (isTimed) refine({ since: undefined, until: undefined });
  };
  return (
    <>
      <Choice
        label="Webhook"
        value={text('webhook')}
        options={[
          { value: '', label: 'All' },
          ...webhooks.map((webhook) => ({ value: webhook.id, label: nameOf(webhook) })),
        ]}
        onChange={change('webhook')}
      />
      <Choice
        label="State"
        value={state ?? ALL}
        options={[
          { value: ALL, label: 'All' },
          ...STATES.map((one) => ({ value: one, label: shownDelivery({ state: one }).text })),
        ]}
        onChange={change('state')}
      />
      <Field
        label="Plant id"
        type="search"
        aria-keyshortcuts="/"
        inputMode="numeric"
        value={text('plant')}
        error={readId(text('plant')).error}
        onInput={change('plant')}
      />
      {isTimed && (
        <>
          <Field label="From" type="datetime-local" value={text('since')} onInput={change('since')} />
          <Field label="Until" type="datetime-local" value={text('until')} onInput={change('until')} />
        </>
      )}
      <Button icon="clock" onClick={toggleTimes}>
        {isTimed ? 'Any time' : 'Choose times'}
      </Button>
      {text('webhook') && (
        <ButtonLink look="quiet" href={href(`/webhooks/${text('webhook')}`)}>
          View webhook
        </ButtonLink>
      )}
    </>
  );
}

/** What failed for good, or else what keeps failing; undefined for everything. */
function failingState(webhooks: readonly Webhook[]): DeliveryState | undefined {
  if (webhooks.some(({ failed }) => failed > 0)) return 'failed';
  return webhooks.some((webhook) => webhook.waiting > 0 && hasFailedLast(webhook)) ? 'pending' : undefined;
}

/** The address has a time as it is typed, in the zone of the browser. */
function instant(typed: string | null): string | undefined {
  const at = new Date(typed ?? Number.NaN);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** Showing another webhook instead would be mistaken for it. */
function NoSuchWebhook() {
  return (
    <Empty
      icon="webhooks"
      title="This webhook does not exist"
      actions={<ButtonLink href={href('/deliveries')}>Deliveries of all webhooks</ButtonLink>}
    >
      It was deleted together with its deliveries, or the address is mistyped.
    </Empty>
  );
}

function NoWebhooks() {
  return (
    <Empty
      icon="webhooks"
      title="No webhooks yet"
      actions={
        <ButtonLink look="primary" icon="add" href={href('/webhooks')}>
          Create a webhook
        </ButtonLink>
      }
    >
      Once there is one, its deliveries and their outcomes appear here.
    </Empty>
  );
}
