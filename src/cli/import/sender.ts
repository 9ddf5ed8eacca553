import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Answer } from '../../../packages/client/src/answers.ts';
import type { PlantStoreError } from '../../../packages/client/src/plant-store-error.ts';
import { mayBeDone, mayPass } from '../../../packages/client/src/retries.ts';
import { refused, unanswered } from '../api-failure.ts';
import type { Api } from '../api-options.ts';
import { Failure } from '../failure.ts';
import { imports, requests } from '../limits.ts';
import { roughDuration } from '../terminal/time.ts';

type SentRow =
  /** `before`: an earlier run added it under the same key. */
  | { was: 'added'; before: boolean }
  /** The service refuses it. `error` is a sentence with its code. */
  | { was: 'refused'; error: string }
  /** The import stops without knowing whether the row was added. */
  | { was: 'left' };

export type Sender = ReturnType<typeof createSender>;

type SenderParts = {
  api: Api;
  concurrency: number;
  /** How long to continue without a usable answer. */
  patienceMs: number;
  /** Aborted to end all retries. */
  stopping: AbortSignal;
  /** Called once with the problem, and with undefined when it is over. */
  onTrouble(what: string | undefined): void;
};

/** Sends rows to `POST /plants`, each with its own key, so that a row is added once however often it is sent. */
export function createSender({ api, concurrency, patienceMs, stopping, onTrouble }: SenderParts) {
  const { origin, pathname } = new URL(`${api.url}/plants`);
  // Silence ends an import no later than bad answers do.
  const deadline = Math.min(requests.deadlineMs, patienceMs);
  const pool = new Pool(origin, {
    connections: concurrency,
    // No longer than an import waits for its first answer; another attempt follows.
    connect: { timeout: Math.min(deadline, imports.firstAnswerMs) },
    headersTimeout: deadline,
    bodyTimeout: deadline,
    maxResponseSize: requests.answerBytes,
  });
  const headers = { authorization: `Bearer ${api.token}`, 'content-type': 'application/json' };
  const health = createHealth(patienceMs, onTrouble);
  let mayHaveAdded = false;

  /** Sends one row until its outcome is clear. Rejects with a `Failure` when no row can be sent any more. */
  async function send(rowKey: string, body: string): Promise<SentRow> {
    let keys = 1;
    let tries = 0;
    for (;;) {
      await until(health.pausedUntil(), stopping);
      if (stopping.aborted) return { was: 'left' };
      const key = keys === 1 ? rowKey : `${rowKey}.${keys}`;
      const { failure, before } = await attempt(key, body);
      // A fault of the service may pass; if it does not, the row itself may cause it.
      if (failure !== undefined && mayPass(failure, tries < imports.faultTries - 1)) {
        mayHaveAdded ||= mayBeDone(failure);
        health.troubled(failure);
        await until(Math.min(performance.now() + backoff(tries++), health.patientUntil()), stopping);
        continue;
      }
      health.well();
      if (failure === undefined) {
        mayHaveAdded = true;
        // After a retry, a replay may mean that only our first answer was lost.
        return { was: 'added', before: before && tries === 0 };
      }
      // An earlier run's refusal: its reason may be gone, so try with a new key.
      if (before && keys++ < imports.keysOfRow) continue;
      if (isFinal(failure)) throw failure;
      return { was: 'refused', error: failure.message };
    }
  }

  /** `before`: the answer repeats the one to an earlier request with the same key. */
  async function attempt(key: string, body: string): Promise<{ before: boolean; failure?: PlantStoreError }> {
    try {
      const answer = await pool.request({
        method: 'POST',
        path: pathname,
        headers: { ...headers, 'idempotency-key': key },
        body,
      });
      const before = answer.headers['idempotent-replayed'] === 'true';
      if (answer.statusCode !== 201) {
        return { before, failure: await refused(api, 'POST', answerOf(answer, await answer.body.text())) };
      }
      // A success repeats the plant that was sent.
      await answer.body.dump();
      return { before };
    } catch (error) {
      return { before: false, failure: unanswered(api, 'POST', error) };
    }
  }

  return { send, mayHaveAdded: () => mayHaveAdded, close: () => pool.destroy() };
}

type Head = { statusCode: number; headers: NodeJS.Dict<string | string[]> };

function answerOf({ statusCode, headers }: Head, text: string): Answer {
  return {
    status: statusCode,
    headers: { get: (name) => headers[name]?.toString() ?? null },
    text: async () => text,
  };
}

/** Whether every other row would fail the same way: wrong service, token, or limit of its user. */
function isFinal({ error, status }: PlantStoreError): boolean {
  return (
    error === undefined || [40005, 40400, 40500, 40902].includes(error) || status === 401 || status === 403
  );
}

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
    /** Throws when the trouble has lasted too long. */
    troubled({ message, status, retryAfter = 0 }: PlantStoreError): void {
      hasAnswered ||= status !== undefined;
      const now = performance.now();
      if (now >= patientUntil()) {
        throw new Failure(`${message} Gave up after ${roughDuration(patience())}.`);
      }
      // Leaves time for a last attempt when patience ends.
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

async function until(time: number, stopping: AbortSignal): Promise<void> {
  const ms = time - performance.now();
  if (ms <= 0 || stopping.aborted) return;
  await sleep(ms, undefined, { signal: stopping }).catch(() => {});
}
