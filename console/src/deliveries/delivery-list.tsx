import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Delivery } from '../../../packages/client/src/client.ts';
import { Button } from '../components/button.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { count, duration } from '../format.ts';
import { positionIn } from '../pages-of-list.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { store } from '../session.ts';
import { shownDelivery } from '../webhook-state.ts';
import { DeliveryTable } from './delivery-table.tsx';
import { type Live, useLive } from './live.ts';

const PAGE = 50;
/** Attempts of pending deliveries cause no events, so the list also refreshes by time. */
const REFRESH_MS = 5_000;
/** Events come in bursts; one refresh serves all of them. */
const GATHER_MS = 400;

export type DeliveryListProps = { webhook: string; state: Delivery['state'] | undefined; isLive: boolean };

/** Changes not yet shown. `isWhole` is false when some were not counted or may not match the filter. */
type Unseen = { events: number; isWhole: boolean };

const NOTHING: Unseen = { events: 0, isWhole: true };

/**
 * The deliveries of a webhook, newest first. While live, new ones appear at the top of the first page. Otherwise the
 * list only announces them, so that nothing moves while somebody reads.
 */
export function DeliveryList({ webhook, state, isLive }: DeliveryListProps) {
  const position = positionIn(`deliveries ${webhook} ${state ?? ''}`);
  const cursor = position.value.cursors.at(-1);
  const unseen = useSignal(NOTHING);
  const list = useResource(`${webhook} ${state} ${cursor}`, (signal) =>
    store().webhooks.deliveriesPage(webhook, { state, limit: PAGE, cursor, signal }),
  );
  const isMoving = isLive && cursor === undefined;
  // One at a time: if each burst restarted loading, it would never finish.
  const showSoon: () => void = useSoon(() => (list.state.peek().isLoading ? showSoon() : void show()));
  const connection = useLive({
    onEvent: () => note({ isWhole: true }),
    onGap: () => note({ isWhole: false }),
  });
  useRefresh(list, isMoving ? REFRESH_MS : Number.POSITIVE_INFINITY);
  useEffect(() => {
    if (isMoving && unseen.peek().events > 0) void show();
  }, [isMoving]);
  const hasUnseen = !isMoving && unseen.value.events > 0;

  function note({ isWhole }: Pick<Unseen, 'isWhole'>): void {
    const { events, isWhole: wasWhole } = unseen.value;
    unseen.value = { events: events + 1, isWhole: wasWhole && isWhole && state === undefined };
    if (isMoving) showSoon();
  }

  function show(): Promise<void> {
    unseen.value = NOTHING;
    return list.reload();
  }

  return (
    <>
      <div class="live">
        <p role="status">
          <LiveNote connection={connection.value} isLive={isLive} isMoving={isMoving} />
          {/* Read out once, not with every event. */}
          {hasUnseen && <span class="hidden">. There may be changes.</span>}
        </p>
        {hasUnseen && (
          <Button icon="refresh" onClick={showFirst}>
            {unseen.value.isWhole
              ? `Show ${count(unseen.value.events)} new`
              : 'Refresh: there may be changes'}
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
    unseen.value = NOTHING;
    position.value = { cursors: [] };
  }
}

type LiveNoteProps = { connection: Live; isLive: boolean; isMoving: boolean };

function LiveNote({ connection, isLive, isMoving }: LiveNoteProps) {
  if (connection === 'lost') {
    const meanwhile = isMoving && ` Meanwhile the list refreshes every ${duration(REFRESH_MS)}.`;
    return <span class="live-lost">The live connection is lost; reconnecting.{meanwhile}</span>;
  }
  if (!isLive) return <span>Not live</span>;
  if (!isMoving) return <span>Live on the first page</span>;
  return (
    <span class={connection === 'open' ? 'live-on' : ''}>
      {connection === 'open' ? 'Live' : 'Connecting…'}
    </span>
  );
}

function NoDeliveries({ state, isBeyond }: { state: Delivery['state'] | undefined; isBeyond: boolean }) {
  if (isBeyond) return <Empty icon="deliveries" title="No more deliveries here" />;
  if (state !== undefined)
    return (
      <Empty icon="deliveries" title={`No delivery is ${shownDelivery({ state }).text.toLowerCase()}`} />
    );
  return (
    <Empty icon="deliveries" title="No deliveries yet">
      Add a plant, or send a test event from the page of the webhook.
    </Empty>
  );
}

/** Runs the work a moment later, once for all requests until then. */
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
