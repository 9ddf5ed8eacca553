import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  type LocalJWKSet,
} from 'jose';
import { type AppError, retryLater } from '../errors.ts';
import { identityProvider as limits } from '../limits.ts';
import type { Runtime } from '../runtime.ts';

/**
 * The signing keys that an identity provider last published. Starts to fetch at once, so that the log shows at start
 * when the provider cannot be reached. There is no timer: old keys are refreshed when they are used. While the provider
 * is down, the known keys stay in use. Only after a quiet period, when nobody knows whether it is down, does a request
 * wait for it.
 * @param stopped failures after it was aborted are ignored
 */
export function createKeySet(
  fetchKeys: () => Promise<JSONWebKeySet>,
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
  stopped: AbortSignal,
) {
  let keys: LocalJWKSet | undefined;
  let text: string | undefined;
  let version = 0;
  let fetchedAt = -Infinity;
  let triedAt = -Infinity;
  let isFailing = false;
  let underWay: Promise<void> | undefined;

  async function fetchOnce(): Promise<void> {
    const startedAt = clock.now();
    try {
      const fetched = await fetchKeys();
      const newText = JSON.stringify(fetched);
      if (newText !== text) {
        keys = createLocalJWKSet(fetched);
        text = newText;
        version++;
      }
      fetchedAt = startedAt;
      if (isFailing) log.info({}, 'reached the identity provider again');
      isFailing = false;
    } catch (err) {
      isFailing = true;
      if (!stopped.aborted) log.warn({ err }, "could not fetch the identity provider's keys");
    }
    triedAt = clock.now();
  }

  /** The refresh in progress or, when the last try is long enough ago, a new one. */
  function refresh(): Promise<void> | undefined {
    if (!underWay && msToNextTry() === 0) {
      underWay = fetchOnce().finally(() => {
        underWay = undefined;
      });
    }
    return underWay;
  }

  function msToNextTry(): number {
    const pause = keys === undefined ? limits.firstRetryMs : limits.unknownKeyMs;
    return Math.max(0, triedAt + pause - clock.now());
  }

  /**
   * A number that changes with the keys: a token verified under another number may no longer be valid. Undefined when
   * the keys are too old; `find` then fetches them again.
   */
  function currentVersion(): number | undefined {
    const ageMs = clock.now() - fetchedAt;
    if (ageMs > limits.trustedMs && !isFailing) return undefined;
    if (ageMs > limits.refreshMs) refresh();
    return version;
  }

  async function look(header: JWSHeaderParameters) {
    if (!keys) return undefined;
    const from = version;
    try {
      return { key: await keys(header), version: from };
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw error;
    }
  }

  /**
   * The public key for a token's header. For an unknown key it asks the provider, at most every `unknownKeyMs`;
   * concurrent callers share the request.
   * @throws jose's `JWKSNoMatchingKey` and `JWKSMultipleMatchingKeys`. AppError 50304 when the provider cannot be
   * reached, so that nobody can say whether it has the key.
   */
  async function find(header: JWSHeaderParameters) {
    if (currentVersion() === undefined) await refresh();
    let found = await look(header);
    if (!found) {
      await refresh();
      found = await look(header);
    }
    if (found) return found;
    throw isFailing ? outOfReach(msToNextTry()) : new errors.JWKSNoMatchingKey();
  }

  refresh();
  return { find, version: currentVersion };
}

function outOfReach(retryMs: number): AppError {
  return retryLater(
    50304,
    'The identity provider cannot be reached, so the token cannot be checked; nothing was done. Retry later.',
    { seconds: Math.max(1, Math.ceil(retryMs / 1000)) },
  );
}
