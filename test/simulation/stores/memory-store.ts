import { delivery as limits } from '../../../src/limits.ts';
import type {
  DueDelivery,
  LaneContents,
  LaneRequest,
  LaneSettings,
  LaneState,
  Outcome,
  Recorded,
  Work,
} from '../../../src/webhooks/delivery/port.ts';
import type { PlantEvent } from '../../../src/webhooks/port.ts';
import {
  type DeliveryRow,
  deliveriesOf,
  isVisible,
  pendingOf,
  type Rows,
  removeDelivery,
  type WebhookRow,
} from './memory-rows.ts';

/**
 * What delivery needs of a store, in memory: the port's methods, each of them one transaction, at once. What a read gives
 * bears stamps, by which a check can tell what the lane knew when it sent.
 */
export type MemoryLanes = {
  /** @param isMeant whether a lane is searched */
  findWork(after: string | undefined, limit: number, isMeant: (webhook: string) => boolean): Work[];
  read(request: LaneRequest): LaneContents;
  /** `owns` says whether the lane is, under this fence, that of the replica. */
  record(
    replica: string,
    outcomes: readonly Outcome[],
    owns: (webhook: string, fence: number) => boolean,
  ): Recorded[];
  suspect(webhook: string, event: string, generation: number, suspicions: number): void;
};

export type StampedSettings = LaneSettings & { version: number; readAt: number };
export type StampedEvent = PlantEvent & {
  owner: number;
  generation: number;
  made: number;
  due: number;
  isAsked: boolean;
  version: number;
};

export function createMemoryLanes(rows: Rows): MemoryLanes {
  return {
    findWork(after = '', limit, isMeant) {
      const work: Work[] = [];
      for (const { id, status } of [...rows.webhooks.values()].sort(byId)) {
        if (id <= after || status !== 'enabled' || !isMeant(id)) continue;
        const pending = visiblePending(rows, id);
        if (pending.length === 0) continue;
        const due = Math.min(...pending.map((row) => row.due));
        work.push({ webhook: id, due, isAsked: pending.some((row) => row.isAsked) });
        if (work.length === limit) break;
      }
      return work;
    },
    read: (request) => read(rows, request),
    record: (_, outcomes, owns) =>
      outcomes.map((outcome) => {
        const { webhook, fence } = outcome;
        if (owns(webhook, fence)) return recordOne(rows, outcome);
        return rows.webhooks.get(webhook)?.status === 'deleted' ? 'gone' : 'lost';
      }),
    suspect(webhook, event, generation, suspicions) {
      const row = pendingOf(rows, webhook).get(event);
      if (row?.generation === generation) row.suspicions = suspicions;
    },
  };
}

function byId(one: { id: string }, other: { id: string }): number {
  return one.id < other.id ? -1 : 1;
}

function visiblePending(rows: Rows, webhook: string): DeliveryRow[] {
  return [...pendingOf(rows, webhook).values()].filter(({ event }) => isVisible(rows, webhook, event));
}

function read(rows: Rows, { webhook: id, now, after, limit, askedLimit }: LaneRequest): LaneContents {
  const webhook = rows.webhooks.get(id);
  if (webhook?.status !== 'enabled') {
    return { settings: undefined, asked: [], due: [], nextDue: undefined };
  }
  const pending = visiblePending(rows, id).sort(byPosition);
  const due = pending.filter((row) => row.due <= now);
  const behind = (row: DeliveryRow) =>
    after === undefined || row.due > after.due || (row.due === after.due && row.event.id > after.event);
  return {
    settings: settingsOf(rows, webhook),
    asked: pending
      .filter((row) => row.isAsked)
      .slice(0, askedLimit)
      .map((row) => deliveryOf(row, webhook, true)),
    due: due
      .filter(behind)
      .slice(0, limit)
      .map((row) => deliveryOf(row, webhook, false)),
    nextDue: pending.find((row) => row.due > now)?.due,
  };
}

function byPosition(one: DeliveryRow, other: DeliveryRow): number {
  return one.due - other.due || byId(one.event, other.event);
}

function settingsOf(rows: Rows, webhook: WebhookRow): StampedSettings {
  const { owner, url, rate, secrets, pausedUntil, failingSince, generation, version } = webhook;
  const keys = { secrets: [...secrets], privateKey: '' };
  return { owner, url, rate, ...keys, pausedUntil, failingSince, generation, version, readAt: rows.now() };
}

function deliveryOf(row: DeliveryRow, { version }: WebhookRow, isAsked: boolean): DueDelivery {
  const { due, step, generation, made, suspicions } = row;
  const { id, owner, type, at } = row.event;
  const plant = { id: 1n, name: id, tag: undefined };
  const event: StampedEvent = { id, type, at, plant, owner, generation, made, due, isAsked, version };
  return { event, due, step, generation, isAsked, suspicions };
}

function recordOne(rows: Rows, outcome: Outcome): Recorded {
  const webhook = rows.webhooks.get(outcome.webhook);
  const row = deliveriesOf(rows, outcome.webhook).get(outcome.event);
  if (!webhook || webhook.status === 'deleted' || !row) return 'gone';
  if (!isVisible(rows, webhook.id, row.event)) {
    removeDelivery(rows, row);
    return 'gone';
  }
  const number = outcome.generation + 1;
  const isCurrent = row.generation === outcome.generation && row.state === 'pending';
  // An existing attempt under the current number belongs to a delivery that was removed and created again.
  const known = isCurrent ? undefined : row.kept.get(number);
  if (known?.at === outcome.attempt.at) return 'settled';
  if (known === undefined) {
    row.kept.set(number, outcome.attempt);
    row.attempts++;
    if (row.kept.size > limits.attemptsKept) row.kept.delete(Math.min(...row.kept.keys()));
    const last = outcome.reason === undefined ? 'lastSuccessAt' : 'lastFailureAt';
    webhook[last] = Math.max(webhook[last] ?? 0, outcome.attempt.at);
    follow(webhook, outcome.laneState);
  }
  if (!isCurrent) return 'late';
  Object.assign(row, { generation: number, isAsked: false, suspicions: 0, reason: outcome.reason });
  return settle(rows, row, outcome);
}

function settle(rows: Rows, row: DeliveryRow, { next, step, attempt }: Outcome): Recorded {
  if (next.state !== 'delivered' && row.step !== step) {
    Object.assign(row, { due: attempt.at, step: 0 });
    return 'anew';
  }
  Object.assign(row, next);
  if (next.state !== 'pending') pendingOf(rows, row.webhook).delete(row.event.id);
  return 'settled';
}

/** What an attempt means for the webhook, unless that was changed since. */
function follow(webhook: WebhookRow, laneState: LaneState): void {
  if (webhook.generation !== laneState.generation || webhook.status !== 'enabled') return;
  const { pausedUntil, failingSince, disabledReason } = laneState;
  Object.assign(webhook, { pausedUntil, failingSince });
  if (disabledReason === undefined) return;
  Object.assign(webhook, { status: 'disabled', disabledReason });
  webhook.version++;
}
