import { Agent, type Dispatcher, request } from 'undici';
import { delivery } from '../limits.ts';
import type { Clock } from '../runtime.ts';
import { type Attempt, reasonOf } from './attempt.ts';
import { guardedConnector } from './connect.ts';
import type { Prepared } from './delivery.ts';
import type { Target } from './target.ts';

export type Sender = {
  /** Makes one attempt. Never rejects: what went wrong is in the `Attempt`. Ends early when `signal` aborts. */
  send(prepared: Prepared, signal?: AbortSignal): Promise<Attempt>;
  /** Ends what is under way, and every connection. May be called twice. */
  close(): Promise<void>;
};

export type SenderParts = {
  target: Target;
  clock: Clock;
  /** From the look-up of the name to the end of the answer, in milliseconds. */
  attemptMs?: number;
};

/**
 * Sends over connections that are kept for the next delivery to the same origin. Redirects are not followed:
 * they would lead past the guard, and a log-in page would count as a receiver.
 */
export function createSender({ target, clock, attemptMs = delivery.attemptMs }: SenderParts): Sender {
  const agent = new Agent({
    connect: guardedConnector(target, attemptMs),
    // One deadline bounds everything; two more clocks would only blur what a failure means.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: delivery.answerHeaderBytes,
  });

  async function exchange({ url, headers, body }: Prepared, signal: AbortSignal): Promise<Partial<Attempt>> {
    let status: number | undefined;
    try {
      target.read(url);
      const options = { dispatcher: agent, method: 'POST', headers, body, signal } as const;
      // undici heeds the signal only once it has a connection; before that it would wait for the connector.
      const answer = await Promise.race([request(url, options), aborted(signal)]);
      status = answer.statusCode;
      return { status, excerpt: await excerptOf(answer.body) };
    } catch (error) {
      return { ...(status === undefined ? {} : { status }), error: reasonOf(error) };
    }
  }

  return {
    async send(prepared, signal) {
      const started = clock.now();
      const abort = new AbortController();
      const late = `There was no whole answer within ${attemptMs / 1000} s.`;
      const timer = setTimeout(() => abort.abort(new Error(late)), attemptMs);
      const stop = () => abort.abort(new Error('The service stopped.'));
      signal?.addEventListener('abort', stop);
      if (signal?.aborted) stop();
      const outcome = await exchange(prepared, abort.signal);
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      if (outcome.error !== undefined && abort.signal.aborted) outcome.error = abort.signal.reason.message;
      return { ...outcome, durationMs: Math.max(0, clock.now() - started) };
    },

    close: () => (agent.destroyed ? Promise.resolve() : agent.destroy()),
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

/**
 * The beginning of an answer as text. An answer within the bound is read to its end, so that it is known to be
 * whole and the connection serves again; a longer one is left at the bound, and its status counts.
 */
async function excerptOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  // Leaving the loop early destroys the stream, which then reports an error that nobody waits for.
  body.on('error', () => {});
  const kept: Buffer[] = [];
  let read = 0;
  for await (const chunk of body) {
    const bytes: Buffer = chunk;
    if (read < delivery.answerKeptBytes) kept.push(bytes.subarray(0, delivery.answerKeptBytes - read));
    read += bytes.length;
    if (read >= delivery.answerReadBytes) break;
  }
  // A character that the cut tore apart is left out; a NUL would not pass every store.
  return new TextDecoder().decode(Buffer.concat(kept), { stream: true }).replaceAll('\0', '\uFFFD');
}
