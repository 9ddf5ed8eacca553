import type { Page } from '../../packages/client/src/pages.ts';
import { PlantStoreError } from '../../packages/client/src/plant-store-error.ts';
import type { PlantEvent } from '../../packages/client/src/schemas.ts';
import type { Service } from './api.ts';
import type { Api } from './api-options.ts';
import { type PageQuery, pagesOf } from './pages.ts';

type EventOptions = {
  /** RFC 3339. The feed's cursors know no times, so earlier events are read and skipped. */
  since?: string | undefined;
  signal: AbortSignal;
};

/**
 * The events up to now, oldest first.
 * @param onPage called with the cursor after each page
 */
export function eventPages(
  { events }: { events: Pick<Service['events'], 'page'> },
  { since, signal }: EventOptions,
  onPage: (cursor: string) => void = () => {},
): AsyncGenerator<Page<PlantEvent>> {
  const first = since === undefined ? -Infinity : Date.parse(since);
  const ask = async (query: PageQuery): Promise<Page<PlantEvent>> => {
    const { items, cursor } = await events.page(query);
    onPage(cursor);
    // An unreadable time counts as late: better shown than lost.
    const wanted = items.filter(({ createdAt }) => !(Date.parse(createdAt) < first));
    return { items: wanted, next: items.length < query.limit ? undefined : cursor };
  };
  return pagesOf(ask, { limit: Infinity, signal });
}

type FollowOptions = EventOptions & {
  /** Called with a message for the person: the stream is open, lost, or may have missed events. */
  onChange(message: string): void;
};

/**
 * Yields the service's events from now or an earlier time on, in order, each exactly once as long as the service still
 * knows the latest one received.
 * @throws when the first connection fails, or a later one fails permanently
 */
export async function* followEvents(
  api: Api,
  service: Service,
  { since, signal, onChange }: FollowOptions,
): AsyncGenerator<PlantEvent> {
  let after: string | undefined;
  if (since !== undefined) {
    const pages = eventPages(service, { since, signal }, (cursor) => {
      after = cursor;
    });
    for await (const { items } of pages) yield* items;
  }
  // The cast stops TypeScript from narrowing what the callbacks change.
  let state = 'new' as 'new' | 'open' | 'lost' | 'forgotten';
  let failure: PlantStoreError | undefined;
  do {
    const ending = new AbortController();
    const events = service.events.stream({
      after,
      signal: AbortSignal.any([signal, ending.signal]),
      onOpen() {
        if (state === 'new') onChange(`Listening to ${api.url}. Press Ctrl+C to stop.`);
        else if (state === 'lost') onChange('Connected again.');
        // Without a cursor the service starts with new events.
        else onChange('Connected again. Events sent in the meantime may be missing.');
        state = 'open';
      },
      onError(error) {
        failure = error;
        if (state === 'new') ending.abort();
        if (state !== 'open') return;
        state = 'lost';
        // An ended or silent stream has no cause.
        const what = error.cause === undefined ? error.message : 'The event stream broke.';
        onChange(`${what} Reconnecting.`);
      },
    });
    try {
      for await (const { cursor: _, ...event } of events) yield event;
    } catch (error) {
      if (!(error instanceof PlantStoreError) || error.error !== 40007 || state !== 'lost') {
        throw service.explain(error);
      }
      state = 'forgotten';
      after = undefined;
    }
  } while (state === 'forgotten' && !signal.aborted);
  if (state === 'new' && failure) throw service.explain(failure);
}
