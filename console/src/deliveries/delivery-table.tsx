import type { Delivery } from '../../../packages/client/src/client.ts';
import { StateBadge } from '../components/state-badge.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { href } from '../router.ts';
import { shownDelivery } from '../webhook-state.ts';

/** Deliveries of one webhook, each linked to its attempts. */
export function DeliveryTable({ webhook, deliveries }: { webhook: string; deliveries: readonly Delivery[] }) {
  return (
    <Table
      caption="Deliveries"
      columns={columnsFor(webhook)}
      rows={deliveries}
      keyOf={({ event }) => event}
    />
  );
}

function columnsFor(webhook: string): readonly Column<Delivery>[] {
  return [
    {
      title: 'Plant',
      kind: 'name',
      cell: ({ event, type, plant }) => (
        <a href={href(`/deliveries/${webhook}/${event}`)}>
          {type === 'plant.test' ? 'Test event' : plant.name}
        </a>
      ),
    },
    { title: 'State', cell: (delivery) => <StateBadge shown={shownDelivery(delivery)} /> },
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Attempts', kind: 'number', cell: ({ attempts }) => attempts },
    { title: 'Next', cell: ({ nextAttemptAt }) => nextAttemptAt && <Time at={nextAttemptAt} isAhead /> },
    { title: 'Reason', cell: ({ reason }) => reason && <span class="reason">{reason}</span> },
  ];
}
