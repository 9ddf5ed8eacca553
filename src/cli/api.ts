import { setTimeout as sleep } from 'node:timers/promises';
import { eventsOf } from '../../packages/client/src/events.ts';
import { PlantStoreError } from '../../packages/client/src/plant-store-error.ts';
import { plantsOf } from '../../packages/client/src/plants.ts';
import { createRequests } from '../../packages/client/src/requests.ts';
import {
  mayBeDone,
  mayPass,
  pauseAfter,
  retriesOf,
  type WaitAfter,
} from '../../packages/client/src/retries.ts';
import type { Me } from '../../packages/client/src/schemas.ts';
import { tokensOf } from '../../packages/client/src/tokens.ts';
import { webhooksOf } from '../../packages/client/src/webhooks.ts';
import { refuseUnknown } from './answers.ts';
import { explained, isUnreachable, strange } from './api-failure.ts';
import { type Api, type ApiFlags, readApi } from './api-options.ts';
import { requests as limits, retrying } from './limits.ts';
import { say } from './terminal/terminal.ts';

/** The typed client for verbs: its failures say what the person can do. */
export type Service = ReturnType<typeof connect>;

/** For a verb that waits for an unavailable service: it retries each request for `giveUpMs`. */
type Patience = {
  /** Aborting it ends the wait and throws the latest failure. */
  stopping?: AbortSignal;
  /** Printed with the first failure: what the person needs to know if they stop the program now. */
  hint?: string;
  /** By default `retrying.giveUpMs`. */
  giveUpMs?: number;
  /** The same while no service answers at all. By default it does not wait for one. */
  firstAnswerMs?: number;
};

type ConnectOptions = { patience?: Patience; deadlineMs?: number };

/** Connects to the service that the flags mean, like `connect`. Throws `ConfigError`. */
export function serviceFor(flags: ApiFlags, options?: ConnectOptions): Service {
  return connect(readApi(flags), options);
}

/** Without `patience`, throws the first failure. Every failure is a `PlantStoreError` or a `Failure`. */
export function connect(api: Api, { patience, deadlineMs = limits.deadlineMs }: ConnectOptions = {}) {
  let newest = new Headers();
  let isKnown = false;
  let isDoubtful = false;
  const explain = (error: unknown, method?: string) =>
    explained(error, { api, method, location: newest.get('location'), deadlineMs });

  const options = {
    ...api,
    timeoutMs: deadlineMs,
    // How many faults in a row a stream survives.
    retries: retrying.faults,
    async fetch(url: string, init: RequestInit) {
      const response = await fetch(url, init);
      newest = response.headers;
      return bounded(api, response);
    },
  };
  const requests = createRequests(options, {
    waits() {
      isDoubtful = false;
      return patience ? waitsOf(patience, (error) => !isKnown && isUnreachable(error)) : retriesOf(0);
    },
    async settle(request, attempt) {
      const answer = await attempt.catch((error: unknown) => {
        // An answer without a code that no retry helps against, such as a redirect, is not from the service.
        isDoubtful ||= error instanceof PlantStoreError && mayPass(error, true) && mayBeDone(error);
        throw explain(error, request.method);
      });
      refuseUnknown(request, answer.body);
      isKnown = true;
      return answer;
    },
  });
  return {
    plants: plantsOf(requests),
    webhooks: webhooksOf(requests),
    events: eventsOf(requests),
    tokens: tokensOf(requests),
    read: requests.read,
    me: () => requests.read<Me>({ path: ['me'] }),
    /** Turns what `events.stream` throws into what the other methods throw. */
    explain,
    /** Whether the latest answer repeats the one to an earlier request with the same key. */
    isReplay: () => newest.has('idempotent-replayed'),
    /** Whether the latest request may have taken effect although it failed, perhaps by an earlier attempt. */
    mayBeDone: () => isDoubtful,
  };
}

/** Retries one request until it has failed for too long, and reports the first failure. */
function waitsOf(
  { stopping, hint = '', giveUpMs = retrying.giveUpMs, firstAnswerMs = 0 }: Patience,
  isMissing: (error: PlantStoreError) => boolean,
): WaitAfter {
  let failedAt: number | undefined;
  return async (error, tries) => {
    const now = performance.now();
    failedAt ??= now;
    const ms = pauseAfter(Math.min(tries, retrying.doublings), error);
    const mostMs = isMissing(error) ? firstAnswerMs : giveUpMs;
    const isLate = now - failedAt + ms > mostMs;
    if (stopping?.aborted || isLate || !mayPass(error)) throw error;
    if (tries === 0) say(`${error.message} Retrying for ${mostMs / 1000} s.${hint}`);
    await sleep(ms, undefined, { signal: stopping }).catch(() => {
      throw error;
    });
    return 0;
  };
}

/** Fails beyond `limits.answerBytes`. An event stream never ends and has bounds of its own. */
function bounded(api: Api, response: Response): Response {
  const { body, headers, status } = response;
  if (!body || headers.get('content-type')?.startsWith('text/event-stream')) return response;
  let bytes = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, stream) {
      bytes += chunk.length;
      if (bytes > limits.answerBytes) stream.error(strange(api, status));
      else stream.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(count), response);
}
