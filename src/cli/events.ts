import type { StreamedEvent } from '../../packages/client/src/event-stream.ts';
import { PlantStoreError } from '../../packages/client/src/plant-store-error.ts';
import type { Service } from './api.ts';
import type { Api } from './api-options.ts';

export type FollowOptions = {
  /** Ends the stream; the generator then returns. */
  signal: AbortSignal;
  /** Called with a sentence for a person: that the stream is open, is lost, or may have lost events. */
  onChange(message: string): void;
};

/**
 * The events of the service from now on, none left out and none twice while the service knows the newest that came.
 *
 * Throws when the first connection fails, or a later one in a way that does not pass by itself.
 */
export async function* followEvents(
  api: Api,
  service: Service,
  { signal, onChange }: FollowOptions,
): AsyncGenerator<StreamedEvent> {
  // What the callbacks change TypeScript does not follow.
  let state = 'new' as 'new' | 'open' | 'lost' | 'forgotten';
  let failure: PlantStoreError | undefined;
  do {
    const ending = new AbortController();
    const events = service.events.stream({
      signal: AbortSignal.any([signal, ending.signal]),
      onOpen() {
        if (state === 'new') onChange(`Listening to ${api.url}. Ctrl+C ends it.`);
        else if (state === 'lost') onChange('Connected again.');
        // Without a cursor the service begins with what comes now.
        else onChange('Connected again. Events that came meanwhile may be missing.');
        state = 'open';
      },
      onError(error) {
        failure = error;
        if (state === 'new') ending.abort();
        if (state !== 'open') return;
        state = 'lost';
        // Its end and its silence have no cause.
        const what = error.cause === undefined ? error.message : 'The event stream broke off.';
        onChange(`${what} Connecting again.`);
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
