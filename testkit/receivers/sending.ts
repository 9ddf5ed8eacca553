import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import { parseNetworks } from '../../src/webhooks/sending/addresses.ts';
import type { Sendable } from '../../src/webhooks/sending/request.ts';
import { createResolve } from '../../src/webhooks/sending/resolver.ts';
import { createSender, type Sender, type SenderParts } from '../../src/webhooks/sending/sender.ts';
import { newKeyPair, newSecret } from '../../src/webhooks/sending/signature.ts';
import { createTarget, type Resolve } from '../../src/webhooks/sending/target.ts';

const keys = { secrets: [newSecret(randomBytes)], privateKey: newKeyPair(randomBytes).privateKey };
let events = 0;

/** A delivery of a new event to a URL; `webhook` is its id. */
export function deliveryTo(url: string, webhook = 'wh_1'): Sendable {
  events++;
  return {
    webhook: { id: webhook, url, ...keys },
    event: {
      id: `evt_${events}`,
      type: 'plant.created',
      at: Date.UTC(2026, 10, 3, 11, 59, 58, 7),
      plant: { id: BigInt(events), name: 'Alder é', tag: undefined },
    },
  };
}

export type SenderOptions = Partial<SenderParts> & { networks?: string; resolve?: Resolve };

const started: Sender[] = [];
after(() => Promise.all(started.map((sender) => sender.stop())));

/** A sender that may reach loopback; stopped after the file's tests. */
export function senderWith({ networks = '127.0.0.0/8', resolve, ...parts }: SenderOptions = {}): Sender {
  const target = createTarget({ allowed: parseNetworks(networks), resolve: resolve ?? createResolve() });
  const usual = { target, clock: { now: Date.now }, version: '1.2.3', source: 'https://plants.example' };
  const sender = createSender({ ...usual, attemptMs: 5000, ...parts });
  started.push(sender);
  return sender;
}
