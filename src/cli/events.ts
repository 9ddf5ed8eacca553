import type { StreamedEvent } from '../../packages/client/src/event-stream.ts';
import { PlantStoreError } from '../../packages/client/src/plant-store-error.ts';
import type { Service } from './api.ts';
import type { Api } from './api-options.ts';

export type FollowOptions = {
  signal: AbortSignal;
  /** Called with a message for the person: the stream is open, lost, or may have missed events. */
  onChange(message: string): void;
};

/**
 * Yields the service's events from now on, in order, each exactly once as long as the service still knows the latest
 * one received.
 *
 * @throws when the first connection fails, or a later one fails permanently
 */
export async function* followEvents(
  api: Api,
  service: Service,
  { signal, onChange }: FollowOptions,
): AsyncGenerator<StreamedEvent> {
  // The cast stops TypeScript from narrowing what the callbacks change.
  let state = 'new' as 'new' | 'open' | 'lost' | 'forgotten';
  let failure: PlantStoreError | undefined;
  do {
    const ending = new AbortController();
    const events = service.events.stream({
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
      yield* events;
    } catch (error) {
      if (!(error instanceof PlantStoreError) || error.error !== 40007 || state !== 'lost') {
        throw service.explain(error);
      }
      state = 'forgotten';
    }
  } while (state === 'forgotten' && !signal.aborted);
  if (state === 'new' && failure) throw service.explain(failure);
}
