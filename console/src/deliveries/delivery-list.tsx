import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Delivery } from '../../../src/client/client.ts';
import { Button } from '../components/button.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { count } from '../format.ts';
import { positionIn } from '../pages-of-list.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { store } from '../session.ts';
import { DeliveryTable } from './delivery-table.tsx';
import { type Live, useLive } from './live.ts';

const PAGE = 50;
/** What waits is attempted at times that no event tells of. */
const REFRESH_MS = 5_000;
/** Events come in bursts; one look serves all of them. */
const GATHER_MS = 400;

export type DeliveryListProps = { webhook: string; state: Delivery['state'] | undefined; isLive: boolean };

/**
 * The deliveries of a webhook, newest first. While it is live, new ones appear at the top of the first page; otherwise
 * it is only said how many there are, so that nothing moves while somebody reads.
 */
export function DeliveryList({ webhook, state, isLive }: DeliveryListProps) {
  const position = positionIn(`deliveries ${webhook} ${state ?? ''}`);
  const cursor = position.value.cursors.at(-1);
  const unseen = useSignal(0);
  const list = useResource(`${webhook} ${state} ${cursor}`, (signal) =>
    store().webhooks.deliveriesPage(webhook, { state, limit: PAGE, cursor, signal }),
  );
  const isMoving = isLive && cursor === undefined;
  const showSoon = useSoon(() => void show());
  const connection = useLive(true, () => {
    unseen.value += 1;
    if (isMoving) showSoon();
  });
  useRefresh(list, isMoving ? REFRESH_MS : Number.POSITIVE_INFINITY);

  function show(): Promise<void> {
    unseen.value = 0;
    return list.reload();
  }

  return (
    <>
      <div class="live" role="status">
        <LiveNote connection={connection.value} isLive={isLive} />
        {!isMoving && unseen.value > 0 && (
          <Button icon="refresh" onClick={() => void showFirst()}>
            Show {count(unseen.value)} new
          </Button>
        )}
      </div>
      <Loaded resource={list} what="deliveries">
        {({ items }) =>
          items.length > 0 ? (
            <DeliveryTable webhook={webhook} deliveries={items} />
          ) : (
            <NoDeliveries state={state} isBeyond={cursor !== undefined} />
          )
        }
      </Loaded>
      <Pager position={position} next={list.state.value.value?.next} isLoading={list.state.value.isLoading} />
    </>
  );

  function showFirst(): void {
    if (cursor === undefined) void show();
    unseen.value = 0;
    position.value = { cursors: [] };
  }
}

function LiveNote({ connection, isLive }: { connection: Live; isLive: boolean }) {
  if (connection === 'lost') return <span class="live-lost">The live connection is lost; trying again.</span>;
  if (!isLive) return <span>Not live</span>;
  return (
    <span class={connection === 'open' ? 'live-on' : ''}>
      {connection === 'open' ? 'Live' : 'Connecting…'}
    </span>
  );
}

function NoDeliveries({ state, isBeyond }: { state: Delivery['state'] | undefined; isBeyond: boolean }) {
  if (isBeyond) return <Empty icon="deliveries" title="No more deliveries here" />;
  if (state !== undefined) return <Empty icon="deliveries" title={`No delivery is ${state}`} />;
  return (
    <Empty icon="deliveries" title="No deliveries yet">
      Add a plant, or send a test event from the page of the webhook.
    </Empty>
  );
}

/** Does something a moment after it was asked for, once for all who asked meanwhile. */
function useSoon(work: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      work();
    }, GATHER_MS);
  };
}
