import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { pauseOf } from '../webhooks/retry-after.ts';
import { type ApiFailure, refused, unanswered } from './api-failure.ts';
import type { Api } from './api-options.ts';
import { Failure } from './failure.ts';
import { imports, requests } from './limits.ts';
import { roughDuration } from './time.ts';

/** What became of a row. */
export type SentRow =
  /** `before`: by an earlier request with the same key, whose answer was asked for once more. */
  | { was: 'added'; before: boolean }
  /** The service will not have it. `error` is a sentence and its code. */
  | { was: 'refused'; error: string }
  /** The import stops, and it is not known whether the row was added. */
  | { was: 'left' };

export type Sender = {
  /** Sends one row until it is clear what became of it. Rejects with a `Failure` when no row can be sent any more. */
  send(key: string, body: string): Promise<SentRow>;
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
  /** Is told what is in the way, once, and undefined when it is no longer. */
  onTrouble(what: string | undefined): void;
};

type Answer = { status: number; headers: Record<string, string | string[] | undefined>; text: string };

/** What came of one request. */
type Outcome =
  | { was: 'added'; before: boolean }
  /** `isFinal`: it would be the same for every other row. */
  | { was: 'refused'; failure: ApiFailure; isFinal: boolean; before: boolean }
  | NotAnswered;

/** There is no answer that says what became of the row. */
type NotAnswered = {
  was: 'not answered';
  what: string;
  /** When it may be asked again, as `performance.now()` tells time. */
  notBefore: number;
  isFault: boolean;
  /** Whether there was no answer at all. */
  isSilence: boolean;
};

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
  });
  const authorization = `Bearer ${api.token}`;
  const health = createHealth(patienceMs, onTrouble);

  async function post(key: string, body: string): Promise<Answer> {
    const answer = await pool.request({
      method: 'POST',
      path: pathname,
      headers: { authorization, 'content-type': 'application/json', 'idempotency-key': key },
      body,
    });
    // The body of a success is the plant as it was sent.
    if (answer.statusCode === 201) {
      await answer.body.dump();
      return { status: 201, headers: answer.headers, text: '' };
    }
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  }

  async function send(rowKey: string, body: string): Promise<SentRow> {
    let keys = 1;
    let faults = 0;
    for (let tries = 0; ; tries++) {
      await until(health.pausedUntil(), stopping);
      if (stopping.aborted) return { was: 'left' };
      const outcome = await attempt(keys === 1 ? rowKey : `${rowKey}.${keys}`, body);
      switch (outcome.was) {
        case 'added':
          // When it was sent before, the first answer may have been lost on its way.
          return { was: 'added', before: outcome.before && tries === 0 };
        case 'refused':
          // By an earlier import of the file: what was in the way then may be gone.
          if (outcome.before && keys < imports.keysOfRow) {
            keys++;
            break;
          }
          if (outcome.isFinal) throw outcome.failure;
          return { was: 'refused', error: outcome.failure.message };
        case 'not answered':
          if (outcome.isFault && ++faults === imports.faults) return { was: 'refused', error: outcome.what };
          health.troubled(outcome);
          await until(Math.min(performance.now() + backoff(tries), health.patientUntil()), stopping);
      }
    }
  }

  async function attempt(key: string, body: string): Promise<Outcome> {
    let answer: Answer;
    try {
      answer = await post(key, body);
    } catch (error) {
      const { message } = unanswered(api, 'POST', error);
      return { was: 'not answered', what: message, notBefore: 0, isFault: false, isSilence: true };
    }
    const outcome = judge(api, answer);
    if (outcome.was !== 'not answered') health.well();
    return outcome;
  }

  return { send, close: () => pool.destroy() };
}

/** What an answer means. */
function judge(api: Api, { status, headers, text }: Answer): Outcome {
  const before = headers['idempotent-replayed'] === 'true';
  if (status === 201) return { was: 'added', before };
  const response = new Response(null, { status, headers: locationOf(headers) });
  const failure = refused(api, response, Buffer.from(text));
  const { code, message } = failure;
  if (status === 408 || status === 429 || status >= 500 || code === 40901) {
    const notBefore = performance.now() + waitOf(headers['retry-after']);
    // A fault of the service may be brought about by the row itself; what comes without a code is of a proxy.
    return { was: 'not answered', what: message, notBefore, isFault: code === 50000, isSilence: false };
  }
  const isFinal = code === undefined || FINAL.has(code) || status === 401 || status === 403;
  return { was: 'refused', failure, isFinal, before };
}

function waitOf(retryAfter: string | string[] | undefined): number {
  const now = Date.now();
  return (pauseOf(typeof retryAfter === 'string' ? retryAfter : undefined, now) ?? now) - now;
}

/** As many plants as the user may have; no such path or method: not this service. */
const FINAL: ReadonlySet<number> = new Set([40005, 40400, 40500, 40902]);

function locationOf({ location }: Answer['headers']): Record<string, string> {
  return typeof location === 'string' ? { location } : {};
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
    troubled({ what, notBefore, isSilence }: NotAnswered): void {
      hasAnswered ||= !isSilence;
      if (performance.now() >= patientUntil()) {
        throw new Failure(`${what} It was tried for ${roughDuration(patience())}.`);
      }
      // Then it is asked for the last time.
      pausedUntil = Math.max(pausedUntil, Math.min(notBefore, patientUntil()));
      if (!isTroubled) onTrouble(what);
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
