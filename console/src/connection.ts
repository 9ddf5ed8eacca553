import { computed, signal } from '@preact/signals';
import { PlantStoreError } from '../../packages/client/src/client.ts';

/** The API is next to the console, wherever a proxy puts both. */
export const apiUrl = new URL('../', document.baseURI);

const hasNetwork = signal(navigator.onLine);
const isAnswering = signal(true);
/** Whether the last answer was 429: the client waits before it repeats the request. */
const isLimited = signal(false);

/** Shown at the top of every page while nothing can be loaded. */
export const outage = computed<string | undefined>(() => {
  if (isLimited.value)
    return 'The service limits how often your token may ask. The console waits, then tries again.';
  // A service on this machine answers without a network.
  if (isAnswering.value) return undefined;
  if (hasNetwork.value) return 'The service does not answer. The console keeps trying.';
  return 'You are offline. The page may be out of date; it refreshes when you are back online.';
});

/** Increases each time the service can be reached again, so that pages reload. */
export const recoveries = signal(0);

/** How far the clock of the service is ahead of this one, in milliseconds. */
let ahead = 0;

/** The time by the clock of the service, to compare its times with: the clock of the browser may be wrong. */
export function serviceNow(): number {
  return Date.now() + ahead;
}

/** Longer than the client waits: up to 60 s because the service asks for it, and up to 30 s more. */
const LONGEST_WAIT_MS = 100_000;
const RETRY_MS = 2_000;
const PROBE_TIMEOUT_MS = 10_000;
const CLOCK_SET_MS = 3_000;
let timer: ReturnType<typeof setTimeout> | undefined;
let limitTimer: ReturnType<typeof setTimeout> | undefined;

for (const type of ['offline', 'online']) addEventListener(type, noteNetwork);

function noteNetwork(): void {
  hasNetwork.value = navigator.onLine;
  ask();
}

/** A `fetch` that notices when the service becomes unreachable or reachable. */
export async function watchedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    note(response);
    noteLimit(response);
    noteTime(response);
    return response;
  } catch (error) {
    // The client ends a request that takes too long with an error of its own.
    if (!init?.signal?.aborted || init.signal.reason instanceof PlantStoreError) lost();
    throw error;
  }
}

/** The service answers failures with JSON; a proxy that cannot reach it answers with a page of its own. */
function note({ status, headers }: Response): void {
  const isJson = headers.get('content-type')?.startsWith('application/json');
  if ([502, 503, 504].includes(status) && !isJson) lost();
  else reached();
}

/** `Date` is rounded down, and an answer takes its time: the largest difference is the best, until a clock is set. */
function noteTime({ headers }: Response): void {
  const difference = Date.parse(headers.get('date') ?? '') - Date.now();
  if (difference > ahead || difference < ahead - CLOCK_SET_MS) ahead = difference;
}

function noteLimit({ status, url }: Response): void {
  // Refused for the number of streams; the page says that it is not live.
  if (url.endsWith('/events/stream')) return;
  clearTimeout(limitTimer);
  isLimited.value = status === 429;
  // The client may have given up.
  if (isLimited.value) limitTimer = setTimeout(() => (isLimited.value = false), LONGEST_WAIT_MS);
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
  fetch(new URL('healthz', apiUrl), { cache: 'no-store', signal }).then(note, lost);
}
