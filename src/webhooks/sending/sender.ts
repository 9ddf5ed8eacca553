import { delivery } from '../../limits.ts';
import type { Clock } from '../../runtime.ts';
import { type Attempt, NOT_SIGNED, reasonOf, STOPPED } from './attempt.ts';
import { createConnections, type Receiver } from './connections.ts';
import { type Answer, exchange } from './exchange.ts';
import { type Prepared, prepare, type Sendable } from './request.ts';
import type { Target } from './target.ts';

export type Sender = ReturnType<typeof createSender>;

export type SenderParts = {
  target: Target;
  /** The time that requests carry. */
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
export function createSender({ target, clock, version, source, ...parts }: SenderParts) {
  const { attemptMs = delivery.attemptMs } = parts;
  const connections = createConnections(target);
  let stopping: Promise<void> | undefined;

  async function answerTo(sendable: Sendable, at: number): Promise<Answer> {
    if (stopping) return { error: STOPPED };
    let prepared: Prepared;
    let receiver: Receiver;
    try {
      prepared = prepare(sendable, at, version, source);
    } catch {
      return { error: NOT_SIGNED };
    }
    try {
      receiver = connections.to(sendable.webhook.id, sendable.webhook.url);
    } catch (error) {
      return { error: reasonOf(error) };
    }
    return exchange(connections, receiver, prepared, attemptMs);
  }

  return {
    /** Prepares, signs and makes one attempt. Errors are in the `Attempt`: rejects only when none could be made. */
    async send(sendable: Sendable): Promise<Attempt> {
      const at = clock.now();
      const begin = performance.now();
      const answer = await answerTo(sendable, at);
      return { at, durationMs: Math.floor(performance.now() - begin), ...answer };
    },
    /**
     * Ends requests in flight (each with an `Attempt` whose error says that the service stopped) and all connections.
     * May be called twice.
     */
    stop: (): Promise<void> => (stopping ??= connections.stop(STOPPED)),
  };
}
