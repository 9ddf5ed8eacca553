import { lookup } from 'node:dns/promises';
import { version } from '../../config/package.ts';
import type { Clock } from '../../runtime.ts';
import type { PlantEvent, SigningKeys } from '../../webhooks/port.ts';
import { type Attempt, STOPPED } from '../../webhooks/sending/attempt.ts';
import { createSender } from '../../webhooks/sending/sender.ts';
import type { Target } from '../../webhooks/sending/target.ts';

export type Forwarder = ReturnType<typeof createForwarder>;

/**
 * Sends events exactly as the service would: the same request, signature and deadline.
 * @param source the URL of the service that sent the events
 */
export function createForwarder(url: string, keys: SigningKeys, source: string, clock: Clock) {
  const sender = createSender({ target: anywhere, clock, version, source });
  const webhook = { id: 'listen', url, ...keys };
  return {
    /** Makes one attempt. Never rejects: the `Attempt` describes a failure. */
    async send(event: PlantEvent): Promise<Attempt> {
      const attempt = await sender.send({ webhook, event });
      return attempt.error === STOPPED ? { ...attempt, error: 'Stopped listening.' } : attempt;
    },
    /** Aborts pending attempts. May be called twice. */
    stop: sender.stop,
    [Symbol.asyncDispose]: sender.stop,
  };
}

/** Admits every address. The service's guard protects its network from its users; here both are the same person's. */
const anywhere: Target = {
  async check() {},
  read: (url) => new URL(url),
  admit: (_, addresses) => [...addresses],
  resolve: (hostname) => lookup(hostname, { all: true }),
};
