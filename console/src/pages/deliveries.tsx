import { useSignal } from '@preact/signals';
import type { Delivery, Webhook } from '../../../packages/client/src/client.ts';
import { ButtonLink } from '../components/button.tsx';
import { Checkbox, Choice } from '../components/field.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { DeliveryList } from '../deliveries/delivery-list.tsx';
import { useResource } from '../resource.ts';
import { href, place, refine } from '../router.ts';
import { store } from '../session.ts';
import { shownDelivery } from '../webhook-state.ts';
import '../styles/deliveries.css';

const STATES = ['pending', 'held', 'delivered', 'failed'] as const;

/** The deliveries of a webhook, live. */
export function Deliveries() {
  const webhooks = useResource('webhooks', (signal) => store().webhooks.list({ signal }));
  return (
    <Page title="Deliveries" lead="Every new plant on its way to a webhook, newest first.">
      <Loaded resource={webhooks} what="webhooks">
        {(list) => {
          const wanted = place.value.query.get('webhook');
          const chosen = wanted === null ? list[0] : list.find(({ id }) => id === wanted);
          if (chosen) return <OfWebhook webhooks={list} chosen={chosen} />;
          return list.length > 0 ? <NoSuchWebhook /> : <NoWebhooks />;
        }}
      </Loaded>
    </Page>
  );
}

function OfWebhook({ webhooks, chosen }: { webhooks: readonly Webhook[]; chosen: Webhook }) {
  const isLive = useSignal(true);
  const state = STATES.find((one) => one === place.value.query.get('state'));
  const choose = (webhook: string, of: Delivery['state'] | undefined) => refine({ webhook, state: of });
  return (
    <>
      <div class="filters">
        <Choice
          label="Webhook"
          value={chosen.id}
          options={webhooks.map(({ id, url, description }) => ({ value: id, label: description ?? url }))}
          onChange={(id) => choose(id, state)}
        />
        <Choice
          label="State"
          value={state ?? ''}
          options={[
            { value: '', label: 'All' },
            ...STATES.map((one) => ({ value: one, label: shownDelivery({ state: one }).text })),
          ]}
          onChange={(value) =>
            choose(
              chosen.id,
              STATES.find((one) => one === value),
            )
          }
        />
        <Checkbox
          label="Live"
          isChecked={isLive.value}
          onChange={(isOn) => {
            isLive.value = isOn;
          }}
        />
        <ButtonLink look="quiet" href={href(`/webhooks/${chosen.id}`)}>
          View webhook
        </ButtonLink>
      </div>
      <DeliveryList key={`${chosen.id} ${state}`} webhook={chosen.id} state={state} isLive={isLive.value} />
    </>
  );
}

/** Showing another webhook instead would be mistaken for it. */
function NoSuchWebhook() {
  return (
    <Empty
      icon="webhooks"
      title="This webhook does not exist"
      actions={<ButtonLink href={href('/deliveries')}>Deliveries of another webhook</ButtonLink>}
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
