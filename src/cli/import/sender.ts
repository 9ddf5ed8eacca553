import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { PlantStoreError } from '../../../packages/client/src/plant-store-error.ts';
import { mayPass } from '../../../packages/client/src/retries.ts';
import { isUnsent, refused, unanswered } from '../api-failure.ts';
import type { Api } from '../api-options.ts';
import { Failure } from '../failure.ts';
import { imports, requests } from '../limits.ts';
import { roughDuration } from '../terminal/time.ts';

/** What became of a row. */
export type SentRow =
  /** `before`: by an earlier run, which used the same key. */
  | { was: 'added'; before: boolean }
  /** The service will not have it. `error` is a sentence and its code. */
  | { was: 'refused'; error: string }
  /** The import stops, and it is not known whether the row was added. */
  | { was: 'left' };

export type Sender = {
  /** Sends one row until it is clear what became of it. Rejects with a `Failure` when no row can be sent any more. */
  send(key: string, body: string): Promise<SentRow>;
  /** Whether any row was added, as far as is known. */
  mayHaveAdded(): boolean;
  close(): Promise<void>;
};

export type SenderParts = {
  api: Api;
  /** Requests under way at a time. */
  concurrency: number;
  /** How long the service may give no answer that counts. */
  patienceMs: number;
  /** Aborted when no request is to be repeated any more. */
  stopping: AbortSignal;
  /** Called once with what is in the way, and with undefined when it is gone. */
  onTrouble(what: string | undefined): void;
};

/** `before`: the answer is that of an earlier request with the same key. */
type Outcome =
  | { was: 'added'; before: boolean }
  | { was: 'refused' | 'unclear'; failure: PlantStoreError; before: boolean };

/** Sends rows to `POST /plants`, each under its own key, so that a row is added once however often it is sent. */
export function createSender({ api, concurrency, patienceMs, stopping, onTrouble }: SenderParts): Sender {
  const { origin, pathname } = new URL(`${api.url}/plants`);
  // A service that is silent is not waited for longer than one that answers badly.
  const deadline = Math.min(requests.deadlineMs, patienceMs);
  const pool = new Pool(origin, {
    connections: concurrency,
    connect: { timeout: deadline },
    headersTimeout: deadline,
    bodyTimeout: deadline,
    maxResponseSize: requests.answerBytes,
  });
  const headers = { authorization: `Bearer ${api.token}`, 'content-type': 'application/json' };
  const health = createHealth(patienceMs, onTrouble);
  let mayHaveAdded = false;

  async function send(rowKey: string, body: string): Promise<SentRow> {
    let keys = 1;
    let tries = 0;
    for (;;) {
      await until(health.pausedUntil(), stopping);
      if (stopping.aborted) return { was: 'left' };
      const key = keys === 1 ? rowKey : `${rowKey}.${keys}`;
      const outcome = await attempt(key, body, tries < imports.faultTries - 1);
      if (outcome.was === 'unclear') {
        mayHaveAdded ||= isDoubtful(outcome.failure);
        health.troubled(outcome.failure);
        await until(Math.min(performance.now() + backoff(tries++), health.patientUntil()), stopping);
        continue;
      }
      health.well();
      if (outcome.was === 'added') {
        mayHaveAdded = true;
        // When it was sent before, the first answer may have been lost on its way.
        return { was: 'added', before: outcome.before && tries === 0 };
      }
      // An earlier run of the import was refused: what was in the way then may be gone.
      if (outcome.before && keys++ < imports.keysOfRow) continue;
      if (isFinal(outcome.failure)) throw outcome.failure;
      return { was: 'refused', error: outcome.failure.message };
    }
  }

  /** @param mayFault whether a fault of the service may pass: the row itself may bring it about */
  async function attempt(key: string, body: string, mayFault: boolean): Promise<Outcome> {
    try {
      const answer = await pool.request({
        method: 'POST',
        path: pathname,
        headers: { ...headers, 'idempotency-key': key },
        body,
      });
      const before = answer.headers['idempotent-replayed'] === 'true';
      if (answer.statusCode === 201) {
        // The body of a success is the plant as it was sent.
        await answer.body.dump();
        return { was: 'added', before };
      }
      const failure = await refused(api, 'POST', responseOf(answer, await answer.body.text()));
      return { was: mayPass(failure, mayFault) ? 'unclear' : 'refused', failure, before };
    } catch (error) {
      return { was: 'unclear', failure: unanswered(api, 'POST', error), before: false };
    }
  }

  return { send, mayHaveAdded: () => mayHaveAdded, close: () => pool.destroy() };
}

type Head = { statusCode: number; headers: NodeJS.Dict<string | string[]> };

function responseOf({ statusCode, headers }: Head, text: string): Response {
  const fields = ['location', 'retry-after'].map((name) => [name, String(headers[name] ?? '')]);
  return new Response(text || null, {
    status: statusCode,
    headers: Object.fromEntries(fields.filter(([, value]) => value)),
  });
}

/** Whether the row may have been added all the same: nothing answered, or it is unknown, or still under way. */
function isDoubtful(failure: PlantStoreError): boolean {
  const { error } = failure;
  return error === undefined ? !isUnsent(failure) : [50000, 50301, 40901].includes(error);
}

/** Whether it would be the same for every other row: it is not this service, or the token or the limit of its user. */
function isFinal({ error, status }: PlantStoreError): boolean {
  return (
    error === undefined || [40005, 40400, 40500, 40902].includes(error) || status === 401 || status === 403
  );
}

/** Watches whether the service answers at all. */
function createHealth(patienceMs: number, onTrouble: SenderParts['onTrouble']) {
  let wellAt = performance.now();
  let hasAnswered = false;
  let isTroubled = false;
  let pausedUntil = 0;

  const patience = () => (hasAnswered ? patienceMs : Math.min(patienceMs, imports.firstAnswerMs));
  const patientUntil = () => wellAt + patience();

  return {
    pausedUntil: () => pausedUntil,
    patientUntil,
    well(): void {
      wellAt = performance.now();
      hasAnswered = true;
      if (isTroubled) onTrouble(undefined);
      isTroubled = false;
    },
    /** Throws when it has lasted too long. */
    troubled({ message, status, retryAfter = 0 }: PlantStoreError): void {
      hasAnswered ||= status !== undefined;
      const now = performance.now();
      if (now >= patientUntil()) {
        throw new Failure(`${message} It was tried for ${roughDuration(patience())}.`);
      }
      // It is asked for the last time when patience ends.
      pausedUntil = Math.max(pausedUntil, Math.min(now + retryAfter * 1000, patientUntil()));
      if (!isTroubled) onTrouble(message);
      isTroubled = true;
    },
  };
}

function backoff(tries: number): number {
  const { first, most } = imports.retryMs;
  return Math.min(first * 2 ** tries, most) * (0.5 + Math.random());
}

/** Waits until then, or until the import stops. */
async function until(time: number, stopping: AbortSignal): Promise<void> {
  const ms = time - performance.now();
  if (ms <= 0 || stopping.aborted) return;
  await sleep(ms, undefined, { signal: stopping }).catch(() => {});
}
