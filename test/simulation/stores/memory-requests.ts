import { feedTypes } from '../../../src/webhooks/port.ts';
import {
  beginAnew,
  type DeliveryRow,
  deliveriesOf,
  type EventRow,
  insertDelivery,
  isVisible,
  pendingOf,
  type Rows,
  removeDelivery,
  type WebhookRow,
} from './memory-rows.ts';

/** Users' requests, as far as they affect deliveries; each is one transaction. */
export type MemoryRequests = {
  /** @param id made up if absent, as that of an event is */
  createWebhook(owner: number, url: string, id?: string): WebhookRow;
  createPlant(owner: number, id?: string): EventRow;
  test(webhook: WebhookRow, id?: string): EventRow;
  redeliver(row: DeliveryRow): void;
  /** Without a state, resends all events of the user. */
  replay(webhook: WebhookRow, state: DeliveryRow['state'] | undefined): void;
  changeUrl(webhook: WebhookRow, url: string): void;
  setRate(webhook: WebhookRow, rate: number | undefined): void;
  enable(webhook: WebhookRow): void;
  disable(webhook: WebhookRow): void;
  rotate(webhook: WebhookRow): void;
  deleteWebhook(webhook: WebhookRow): void;
  share(owner: number, viewer: number): void;
  unshare(owner: number, viewer: number): void;
  /** The chore after `unshare`. */
  removeWithdrawn(): void;
};

export function createMemoryRequests(rows: Rows, firstDelayMs: number): MemoryRequests {
  let ids = 0;
  const nextId = (kind: string) => `${kind}_${String(++ids).padStart(6, '0')}`;

  function addEvent(owner: number, type: EventRow['type'], id = nextId('evt')): EventRow {
    const event: EventRow = { id, owner, type, at: rows.now() };
    rows.events.set(event.id, event);
    return event;
  }

  function tellWork(webhook: string, due: number, isAsked?: boolean): void {
    for (const listener of rows.listeners.work) listener([{ webhook, due, isAsked }]);
  }

  function changed(webhook: WebhookRow): void {
    webhook.version++;
    for (const listener of rows.listeners.change) listener(webhook.id);
  }

  /** After a new URL or an enable: what is known of the receiver is void, and all waiting deliveries are due. */
  function bringForward(webhook: WebhookRow): void {
    webhook.generation++;
    Object.assign(webhook, { pausedUntil: undefined, failingSince: undefined });
    for (const row of pendingOf(rows, webhook.id).values()) beginAnew(rows, row);
    changed(webhook);
    tellWork(webhook.id, rows.now());
  }

  return {
    createWebhook(owner, url, id = nextId('wh')) {
      const webhook: WebhookRow = {
        id,
        owner,
        url,
        status: 'enabled',
        disabledReason: undefined,
        rate: undefined,
        secrets: ['1'],
        pausedUntil: undefined,
        failingSince: undefined,
        lastSuccessAt: undefined,
        lastFailureAt: undefined,
        generation: 0,
        version: 0,
      };
      rows.webhooks.set(id, webhook);
      return webhook;
    },

    createPlant(owner, id) {
      const event = addEvent(owner, 'plant.created', id);
      const due = event.at + firstDelayMs;
      for (const { id, status } of rows.webhooks.values()) {
        if (status === 'deleted' || !isVisible(rows, id, event)) continue;
        insertDelivery(rows, id, event, due);
        tellWork(id, due);
      }
      return event;
    },

    test(webhook, id) {
      const event = addEvent(webhook.owner, 'plant.test', id);
      insertDelivery(rows, webhook.id, event, event.at).isAsked = true;
      tellWork(webhook.id, event.at, true);
      return event;
    },

    redeliver(row) {
      row.generation++;
      row.isAsked = true;
      row.askedAt = rows.now();
      beginAnew(rows, row);
      row.step = 0;
      tellWork(row.webhook, row.due, true);
    },

    replay(webhook, state) {
      const theirs = deliveriesOf(rows, webhook.id);
      const isTheirs = ({ event }: DeliveryRow) => isVisible(rows, webhook.id, event);
      // A test is not retried by a replay.
      const isMeant = (row: DeliveryRow) =>
        state === undefined ? feedTypes.includes(row.event.type) : row.state === state;
      for (const row of theirs.values()) if (isTheirs(row) && isMeant(row)) beginAnew(rows, row);
      if (state === undefined) {
        for (const event of rows.events.values()) {
          const isMissing = !theirs.has(event.id) && feedTypes.includes(event.type);
          if (isMissing && isVisible(rows, webhook.id, event))
            insertDelivery(rows, webhook.id, event, rows.now());
        }
      }
      tellWork(webhook.id, rows.now());
    },

    changeUrl(webhook, url) {
      if (webhook.url === url) return;
      webhook.url = url;
      bringForward(webhook);
    },

    setRate(webhook, rate) {
      webhook.rate = rate;
      changed(webhook);
    },

    enable(webhook) {
      Object.assign(webhook, { status: 'enabled', disabledReason: undefined });
      bringForward(webhook);
    },

    disable(webhook) {
      webhook.status = 'disabled';
      changed(webhook);
    },

    rotate(webhook) {
      webhook.secrets.unshift(String(webhook.secrets.length + 1));
      changed(webhook);
    },

    deleteWebhook(webhook) {
      webhook.status = 'deleted';
      rows.deliveries.delete(webhook.id);
      rows.pending.delete(webhook.id);
      changed(webhook);
    },

    share: (owner, viewer) => void rows.shares.add(`${owner}>${viewer}`),

    unshare(owner, viewer) {
      rows.shares.delete(`${owner}>${viewer}`);
      for (const webhook of rows.webhooks.values()) {
        if (webhook.owner === viewer && webhook.status !== 'deleted') changed(webhook);
      }
    },

    removeWithdrawn() {
      for (const [webhook, deliveries] of rows.deliveries) {
        for (const row of deliveries.values()) {
          if (!isVisible(rows, webhook, row.event)) removeDelivery(rows, row);
        }
      }
    },
  };
}
