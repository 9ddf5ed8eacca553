import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { AllDeliveriesOptions, Webhook } from '../../../packages/client/src/client.ts';
import { Button, ButtonLink } from '../components/button.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded, NothingHere } from '../components/states.tsx';
import { duration } from '../format.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { focusHeading, href, place, refine } from '../router.ts';
import { store } from '../session.ts';
import { DeliveryTable } from './delivery-table.tsx';
import { type Live, useLive } from './live.ts';

const PAGE = 50;
/** Attempts of pending deliveries cause no events, so the list also refreshes by time. */
const REFRESH_MS = 5_000;
/** Events come in bursts; one refresh serves all of them. */
const GATHER_MS = 400;

export type DeliveryListProps = {
  /** Those whose deliveries are listed. */
  webhooks: readonly Webhook[];
  filter: AllDeliveriesOptions;
  isLive: boolean;
};

/**
 * Deliveries, newest first. While live, new ones appear at the top of the first page. Otherwise the list only announces
 * changes, so that nothing moves while somebody reads.
 */
export function DeliveryList({ webhooks, filter, isLive }: DeliveryListProps) {
  const cursor = place.value.query.get('cursor') ?? undefined;
  const hasChanged = useSignal(false);
  const list = useResource(JSON.stringify([filter, cursor]), (signal) => {
    hasChanged.value = false;
    return store().webhooks.allDeliveriesPage({ ...filter, limit: PAGE, cursor, signal });
  });
  const isMoving = isLive && cursor === undefined;
  // One at a time: if each burst restarted loading, it would never finish.
  const showSoon: () => void = useSoon(() => (list.state.peek().isLoading ? showSoon() : void list.reload()));
  const note = () => {
    hasChanged.value = true;
    if (isMoving) showSoon();
  };
  const connection = useLive({ onEvent: note, onGap: note });
  useRefresh(list, isMoving ? REFRESH_MS : Infinity);
  useEffect(() => {
    if (isMoving && hasChanged.peek()) void list.reload();
  }, [isMoving]);
  const { value } = list.state.value;
  const isFiltered = Object.values(filter).some((one) => one !== undefined);
  const isNone = !list.isStale && value?.items.length === 0 && (cursor ?? value.next) === undefined;
  const isAnnounced = !isMoving && hasChanged.value;
  const showChanges = () => {
    if (cursor === undefined) void list.reload();
    else refine({});
    focusHeading();
  };

  return (
    <>
      <div class="live">
        <p role="status">
          <LiveNote connection={connection.value} isLive={isLive} isMoving={isMoving} />
          {isAnnounced && <span class="hidden">. There may be changes.</span>}
          {isFiltered && isNone && <span class="hidden">. No delivery matches.</span>}
        </p>
        {isAnnounced && (
          <Button icon="refresh" onClick={showChanges}>
            Refresh: there may be changes
          </Button>
        )}
      </div>
      <Loaded resource={list} what="deliveries">
        {({ items, next }) => {
          if (items.length > 0) return <DeliveryTable webhooks={webhooks} deliveries={items} />;
          if (cursor ?? next) return <NothingHere icon="deliveries" what="deliveries" />;
          // What comes next is not known yet: it need not be an empty list.
          return <NoDeliveries isFiltered={list.isStale || isFiltered} />;
        }}
      </Loaded>
      {/* Without a state in the address, the list may open on another one when somebody returns. */}
      <Pager list={list} also={{ state: filter.state ?? 'all' }} />
    </>
  );
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

function NoDeliveries({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty
        icon="deliveries"
        title="No delivery matches"
        actions={<ButtonLink href={href('/deliveries', { state: 'all' })}>Show all deliveries</ButtonLink>}
      />
    );
  }
  return (
    <Empty
      icon="deliveries"
      title="No deliveries yet"
      actions={<ButtonLink href={href('/plants')}>Add a plant</ButtonLink>}
    >
      Add a plant, or send a test event from the page of a webhook.
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
