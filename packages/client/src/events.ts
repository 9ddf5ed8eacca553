import { type StreamedEvent, type StreamOptions, streamEvents } from './event-stream.ts';
import { type InPages, walk } from './pages.ts';
import type { CallOptions, Requests } from './requests.ts';
import type { PlantEvent } from './schemas.ts';

/** A part of the feed. Its cursor continues after it, now or later, even when there are no events. */
export type EventPage = { items: PlantEvent[]; cursor: string };

export type EventListOptions = CallOptions & {
  /** The cursor of an earlier page or of a streamed event: starts after it. By default from the oldest on. */
  cursor?: string | undefined;
};

/** What happened to the plants that the user has access to. */
export type Events = {
  /** The events up to now, oldest first, in pages of `pageSize`, by default 1 000. */
  list(options?: InPages<EventListOptions>): AsyncGenerator<PlantEvent, void, void>;
  /** At most `limit` events, by default 100. If there are fewer, no more exist so far. */
  page(options?: EventListOptions & { limit?: number | undefined }): Promise<EventPage>;
  /**
   * The events as they happen, from now on or after `after`. A broken stream is reopened where it was, so that no
   * event is missed or repeated. It ends when the signal is aborted.
   * @throws PlantStoreError when retrying does not help: the token is refused, or the events after the cursor are no
   * longer kept (40007)
   */
  stream(options?: StreamOptions): AsyncGenerator<StreamedEvent, void, void>;
};

export function eventsOf(requests: Requests): Events {
  const page: Events['page'] = async ({ limit = 100, signal, ...query } = {}) => {
    const { events: items, cursor } = await requests.read<{ events: PlantEvent[]; cursor: string }>({
      path: ['events'],
      query: { ...query, limit },
      signal,
    });
    return { items, cursor };
  };

  return {
    page,
    list: ({ pageSize: limit = 1000, cursor: start, ...options } = {}) =>
      walk(async (cursor = start) => {
        const { items, cursor: next } = await page({ ...options, limit, cursor });
        return { items, next: items.length < limit ? undefined : next };
      }),
    stream: (options = {}) => streamEvents(requests, options),
  };
}
