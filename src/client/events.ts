import { type StreamedEvent, type StreamOptions, streamEvents } from './event-stream.ts';
import type { CallOptions, Requests } from './requests.ts';
import type { PlantEvent } from './schemas.ts';

/** A part of the feed. Its cursor goes on behind it, now or another day, also when there are no events. */
export type EventPage = { items: PlantEvent[]; cursor: string };

export type EventListOptions = CallOptions & {
  /** The cursor of an earlier page, or of a streamed event: the events behind it. From the oldest on when absent. */
  cursor?: string | undefined;
};

/** What happened to the plants that the user has access to. */
export type Events = {
  /** The events up to now, oldest first, in pages of `pageSize`, 1 000 when absent. */
  list(
    options?: EventListOptions & { pageSize?: number | undefined },
  ): AsyncGenerator<PlantEvent, void, void>;
  /** At most `limit` events, 100 when absent. Fewer are all there are for now. */
  page(options?: EventListOptions & { limit?: number | undefined }): Promise<EventPage>;
  /**
   * The events as they come, from now on or behind `after`. A stream that breaks off is opened again where it was, so
   * that no event is left out and none comes twice. It ends when the signal is aborted.
   *
   * @throws PlantStoreError when trying again does not help: the token is refused, or the events behind the cursor are
   *   no longer kept (40007)
   */
  stream(options?: StreamOptions): AsyncGenerator<StreamedEvent, void, void>;
};

/** The operations on events. */
export function eventsOf(requests: Requests): Events {
  const page: Events['page'] = async ({ cursor: behind, limit = 100, signal } = {}) => {
    const { events: items, cursor } = await requests.read<{ events: PlantEvent[]; cursor: string }>({
      path: ['events'],
      query: { cursor: behind, limit },
      signal,
    });
    return { items, cursor };
  };

  async function* list({ pageSize: limit = 1000, ...options }: Parameters<Events['list']>[0] = {}) {
    for (let { cursor } = options; ; ) {
      const { items, cursor: next } = await page({ ...options, limit, cursor });
      yield* items;
      if (items.length < limit) return;
      cursor = next;
    }
  }

  return { page, list, stream: (options = {}) => streamEvents(requests, options) };
}
