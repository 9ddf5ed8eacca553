import { delivery as limits } from '../../../src/limits.ts';
import type { DueDelivery, LaneContents, LaneSettings } from '../../../src/webhooks/delivery/port.ts';
import type { Rules } from '../../../src/webhooks/delivery/rules.ts';
import type { Attempt } from '../../../src/webhooks/sending/attempt.ts';

/** Shared by the tests of the delivery core: rules, and a store's answers. */
export const rules: Rules = {
  ...limits,
  concurrency: 16,
  failuresToProbe: 5,
  probeMs: { first: 100, most: 1000 },
  rateBurst: 1 / 10,
  inAll: 256,
  share: 1 / 8,
  ownerShare: 1,
  ahead: 1,
  asked: 16,
  readsAtOnce: 1000,
  rereadMs: 5_000,
  rereadEachMs: 0,
  notMadeMs: 1_000,
  suspicions: 3,
  troubledMs: 60_000,
  unrecorded: 1_000,
  recordEveryMs: 0,
  storeRetryMs: { first: 100, most: 5_000 },
  schedule: [0, 5_000, 300_000],
  disableAfterMs: 1e9,
  random: () => 0.5,
};

export function delivery(id: string, { isAsked = false, suspicions = 0, due = 0 } = {}): DueDelivery {
  const plant = { id: 1n, name: id, tag: undefined };
  const event = { id, type: 'plant.created' as const, at: 0, plant };
  return { event, due, step: 0, generation: 0, isAsked, suspicions };
}

export function deliveries(count: number): DueDelivery[] {
  return Array.from({ length: count }, (_, index) => delivery(`evt_${String(index).padStart(4, '0')}`));
}

export function settings(more: Partial<LaneSettings> = {}): LaneSettings {
  return {
    owner: 1,
    url: 'https://receiver.example',
    secrets: [],
    privateKey: '',
    rate: undefined,
    pausedUntil: undefined,
    failingSince: undefined,
    generation: 0,
    ...more,
  };
}

export function contents(more: Partial<LaneContents> = {}): LaneContents {
  return { settings: settings(), asked: [], due: [], nextDue: undefined, ...more };
}

export function attempt(status: number | 'hangs', at: number): Attempt {
  const durationMs = 1;
  return status === 'hangs' ? { at, durationMs, error: 'It hangs.' } : { at, durationMs, status };
}
