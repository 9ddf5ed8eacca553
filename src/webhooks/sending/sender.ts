import { delivery } from '../../limits.ts';
import type { Clock } from '../../runtime.ts';
import { type Attempt, NOT_SIGNED, reasonOf, STOPPED } from './attempt.ts';
import { createConnections, type Receiver } from './connections.ts';
import { type Answer, type Exchange, exchange } from './exchange.ts';
import { type Prepared, prepare, type Sendable } from './request.ts';
import type { Target } from './target.ts';

export type Sender = {
  /** Prepares, signs and makes one attempt. Never rejects: errors are in the `Attempt`. */
  send(claim: Sendable): Promise<Attempt>;
  /**
   * Ends requests in flight (each with an `Attempt` whose error says that the service stopped) and all connections.
   * May be called twice.
   */
  stop(): Promise<void>;
};

export type SenderParts = {
  target: Target;
  /** The clock by which deliveries are due. */
  clock: Clock;
  /** Of this service, for `user-agent`. */
  version: string;
  /** The service's public URL, for `ce-source`. */
  source: string;
  /** From the lookup of the name to the end of the response, in milliseconds. */
  attemptMs?: number;
};

/**
 * Sends in this thread, over connections that are kept for the next delivery of the same webhook. Does not follow
 * redirects: they would bypass the checks of the target, and a login page would count as a receiver.
 */
export function createSender({ target, clock, version, source, attemptMs }: SenderParts): Sender {
  const ms = attemptMs ?? delivery.attemptMs;
  const connections = createConnections(target);
  let stopping: Promise<void> | undefined;

  function begin(claim: Sendable, at: number, done: (answer: Answer) => void): void {
    let prepared: Prepared;
    let receiver: Receiver;
    try {
      prepared = prepare(claim, at, version, source);
    } catch {
      done({ error: NOT_SIGNED });
      return;
    }
    try {
      receiver = connections.to(claim.webhook.id, claim.webhook.url);
    } catch (error) {
      done({ error: reasonOf(error) });
      return;
    }
    const timer = setTimeout(() => one.end(lateReason(one.stage(), ms)), ms);
    const one = exchange(connections, receiver, prepared, (answer) => {
      clearTimeout(timer);
      done(answer);
    });
    one.start();
  }

  return {
    send: (claim) =>
      new Promise((resolve) => {
        const at = clock.now();
        const done = (answer: Answer) =>
          resolve({ at, durationMs: Math.max(0, clock.now() - at), ...answer });
        if (stopping) done({ error: STOPPED });
        else begin(claim, at, done);
      }),

    stop() {
      stopping ??= connections.stop(STOPPED);
      return stopping;
    },
  };
}

function lateReason(stage: ReturnType<Exchange['stage']>, ms: number): string {
  return `${LATE[stage]} within ${ms / 1000} s.`;
}

const LATE: Readonly<Record<ReturnType<Exchange['stage']>, string>> = {
  'look-up': 'The name of the receiver was not resolved',
  connection: 'The receiver did not accept the connection',
  'TLS handshake': 'The receiver did not complete the TLS handshake',
  answer: 'There was no response',
  'rest of the answer': 'There was no complete response',
};
