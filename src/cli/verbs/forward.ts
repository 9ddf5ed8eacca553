import { lookup } from 'node:dns/promises';
import { version } from '../../config/package.ts';
import type { Runtime } from '../../runtime.ts';
import type { PlantEvent, SigningKeys } from '../../webhooks/port.ts';
import { type Attempt, STOPPED } from '../../webhooks/sending/attempt.ts';
import { createSender } from '../../webhooks/sending/sender.ts';
import type { Target } from '../../webhooks/sending/target.ts';

export type Forwarder = {
  /** Makes one attempt. Never rejects: what went wrong is in the `Attempt`. */
  send(event: PlantEvent): Promise<Attempt>;
  /** Ends what is under way. May be called twice. */
  stop(): Promise<void>;
};

export type ForwarderParts = {
  /** The developer's receiver. */
  url: string;
  keys: SigningKeys;
  /** The URL of the service that the events are from. */
  source: string;
  runtime: Runtime;
};

/** Sends events to a receiver as the service itself would: the same request, signed, with the same deadline. */
export function createForwarder({ url, keys, source, runtime }: ForwarderParts): Forwarder {
  const sender = createSender({ target: anywhere, clock: runtime.clock, version, source });
  const webhook = { id: 'listen', url, ...keys };
  return {
    async send(event) {
      const attempt = await sender.send({ webhook, event });
      return attempt.error === STOPPED ? { ...attempt, error: 'Listening has ended.' } : attempt;
    },
    stop: sender.stop,
  };
}

/** The guard of the service protects its network from its users; here both are the developer's own. */
const anywhere: Target = {
  async check() {},
  read: (url) => new URL(url),
  admit: (_, addresses) => [...addresses],
  resolve: (hostname) => lookup(hostname, { all: true }),
};
