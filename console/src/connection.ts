import { computed, signal } from '@preact/signals';
import { PlantStoreError } from '../../packages/client/src/client.ts';

/** The API is next to the console, wherever a proxy puts both. */
export const apiUrl = new URL('../', document.baseURI);

const hasNetwork = signal(navigator.onLine);
const isAnswering = signal(true);

/** Shown at the top of every page while nothing can be loaded. */
export const outage = computed<string | undefined>(() => {
  if (!hasNetwork.value)
    return 'You are offline. The page may be out of date; it refreshes when you are back online.';
  if (!isAnswering.value) return 'The service does not answer. The console keeps trying.';
  return undefined;
});

/** Increases each time the service can be reached again, so that pages reload. */
export const recoveries = signal(0);

const RETRY_MS = 2_000;
const PROBE_TIMEOUT_MS = 10_000;
let timer: ReturnType<typeof setTimeout> | undefined;

addEventListener('offline', () => {
  hasNetwork.value = false;
});
addEventListener('online', () => {
  hasNetwork.value = true;
  if (isAnswering.value) recoveries.value += 1;
  else ask();
});

/** A `fetch` that notices when the service becomes unreachable or reachable. */
export async function watchedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    reached();
    return response;
  } catch (error) {
    // The client ends a request that takes too long with an error of its own.
    if (!init?.signal?.aborted || init.signal.reason instanceof PlantStoreError) lost();
    throw error;
  }
}

function reached(): void {
  clearTimeout(timer);
  if (isAnswering.value) return;
  isAnswering.value = true;
  recoveries.value += 1;
}

function lost(): void {
  isAnswering.value = false;
  clearTimeout(timer);
  timer = setTimeout(ask, RETRY_MS);
}

function ask(): void {
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  fetch(new URL('healthz', apiUrl), { cache: 'no-store', signal }).then(reached, lost);
}
