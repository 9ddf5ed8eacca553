import type { Delivery, Webhook } from '../../../packages/client/src/client.ts';
import { StateBadge } from '../components/state-badge.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { href } from '../router.ts';
import { nameOf, shownDelivery, titleOf } from '../webhook-state.ts';

type DeliveryTableProps = {
  deliveries: readonly Delivery[];
  /** For their names, in a list over several. */
  webhooks?: readonly Webhook[];
};

/** Deliveries, each linked to its attempts. */
export function DeliveryTable({ deliveries, webhooks = [] }: DeliveryTableProps) {
  return (
    <Table
      caption="Deliveries"
      columns={columnsFor(webhooks)}
      rows={deliveries}
      keyOf={({ webhook: id, event }) => `${id} ${event}`}
    />
  );
}

function columnsFor(webhooks: readonly Webhook[]): readonly Column<Delivery>[] {
  const names = new Map(webhooks.map((webhook) => [webhook.id, nameOf(webhook)]));
  const ofWebhook: Column<Delivery> = {
    title: 'Webhook',
    cell: ({ webhook }) => (
      <a class="clamped" href={href(`/webhooks/${webhook}`)}>
        {names.get(webhook) ?? webhook}
      </a>
    ),
  };
  return [
    {
      title: 'Plant',
      kind: 'name',
      cell: (delivery) => (
        <div>
          <a href={href(`/deliveries/${delivery.webhook}/${delivery.event}`)}>
            <bdi>{titleOf(delivery)}</bdi>
          </a>
          {delivery.type === 'plant.created' && <span class="under">{String(delivery.plant.id)}</span>}
        </div>
      ),
    },
    ...(webhooks.length > 1 ? [ofWebhook] : []),
    { title: 'State', cell: (delivery) => <StateBadge shown={shownDelivery(delivery)} /> },
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Attempts', kind: 'number', cell: ({ attempts }) => attempts },
    { title: 'Next', cell: ({ nextAttemptAt }) => nextAttemptAt && <Time at={nextAttemptAt} isAhead /> },
    { title: 'Reason', cell: ({ reason }) => reason && <span class="reason">{reason}</span> },
  ];
}
