import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  type LocalJWKSet,
} from 'jose';
import { type AppError, retryLater } from '../errors.ts';
import { identityProvider as limits } from '../limits.ts';
import type { Clock, Log } from '../runtime.ts';

/** The keys that an identity provider signs with, as it last published them. */
export type KeySet = {
  /**
   * The public key of a token's header. A key that is not among those at hand is asked for, at most every
   * `unknownKeyMs`; who asks meanwhile waits for the same answer.
   *
   * @throws jose's `JWKSNoMatchingKey` and `JWKSMultipleMatchingKeys`. AppError 50304 when the provider cannot be
   * reached, so that nobody can say whether it has the key.
   */
  find(header: JWSHeaderParameters): Promise<{ key: CryptoKey; version: number }>;
  /**
   * A number that changes with the keys: what was verified under another one may no longer hold. Undefined when they
   * are too old to say; `find` then asks anew.
   */
  version(): number | undefined;
};

export type KeySetParts = {
  fetchKeys(): Promise<JSONWebKeySet>;
  clock: Clock;
  log: Log;
  /** What fails after it was aborted is nobody's failure. */
  stopped: AbortSignal;
};

/**
 * Begins to fetch at once, so that a provider that cannot be reached is seen in the log of the start. There is no
 * timer: the keys are fetched anew when they are used and are old. While the provider is down those at hand stay in
 * use; only after a quiet time, when nobody knows whether it is down, a request waits for it.
 */
export function createKeySet({ fetchKeys, clock, log, stopped }: KeySetParts): KeySet {
  let keys: LocalJWKSet | undefined;
  let text: string | undefined;
  let version = 0;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
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
      if (isFailing) log.info({}, 'the identity provider can be reached again');
      isFailing = false;
    } catch (err) {
      isFailing = true;
      if (!stopped.aborted) log.warn({ err }, "the identity provider's keys could not be fetched");
    }
    triedAt = clock.now();
  }

  /** What is under way or, when the last try is long enough ago, a new one. */
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

  function age(): 'fresh' | 'old' | 'too old' {
    const ms = clock.now() - fetchedAt;
    if (ms <= limits.refreshMs) return 'fresh';
    return ms > limits.trustedMs && !isFailing ? 'too old' : 'old';
  }

  function currentVersion(): number | undefined {
    const now = age();
    if (now === 'too old') return undefined;
    if (now === 'old') refresh();
    return version;
  }

  async function look(header: JWSHeaderParameters): Promise<{ key: CryptoKey; version: number } | undefined> {
    if (!keys) return undefined;
    const from = version;
    try {
      return { key: await keys(header), version: from };
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw error;
    }
  }

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
