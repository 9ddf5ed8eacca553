import type { Received } from '../receivers/receiver.ts';
import { type Answer, succeeded } from './answer.ts';
import { eventually } from './eventually.ts';

/** A user of a running service, with helpers for tests of deliveries. */
export type Owner = {
  /** Returns the webhook's id. */
  subscribe(receiver: { url: string }): Promise<string>;
  /** Creates this many plants, one by one. */
  create(count: number): Promise<void>;
  /** The ids of all events, oldest first. */
  events(): Promise<string[]>;
  webhook(id: string): Promise<WebhookAnswer>;
  /** Resolves when nothing waits. */
  settled(id: string): Promise<WebhookAnswer>;
  enable(id: string, enabled: boolean): Promise<void>;
  deliveries(id: string, query?: string): Promise<DeliveryAnswer[]>;
  delivery(id: string, event: string): Promise<DeliveryAnswer & { history: AttemptAnswer[] }>;
  redeliver(id: string, event: string): Promise<void>;
  /** Replays everything since 1970, or one state. Returns the answer's count. */
  replay(id: string, state?: string): Promise<number>;
};

export type WebhookAnswer = {
  id: string;
  url: string;
  description?: string;
  rate?: number;
  status: 'enabled' | 'disabled';
  disabledReason?: string;
  pausedUntil?: string;
  publicKey: string;
  createdAt: string;
  lastSuccessAt?: string;
  lastFailureAt?: string;
  waiting: number;
  failed: number;
  oldestWaitingAge?: number;
};

export type DeliveryAnswer = {
  event: string;
  type: string;
  plant: { id: number; name: string; tag?: string };
  state: 'pending' | 'held' | 'delivered' | 'failed';
  attempts: number;
  nextAttemptAt?: string;
  reason?: string;
  createdAt: string;
};

export type AttemptAnswer = {
  at: string;
  durationMs: number;
  address?: string;
  status?: number;
  excerpt?: string;
  error?: string;
};

/** A service in this process, or a process. */
export type Serving = {
  request(method: string, path: string, options: { token: string; body?: unknown }): Promise<Answer>;
};

const PAGE = 1_000;

export function ownerOf(service: Serving, token: string): Owner {
  async function ask(status: number, method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await service.request(method, path, { token, ...(body !== undefined && { body }) });
    return succeeded(answer, status);
  }

  const owner: Owner = {
    async subscribe({ url }) {
      // The API tests compare the shapes with the OpenAPI document; here and below they are assumed.
      return ((await ask(201, 'POST', '/webhooks', { url })) as { id: string }).id;
    },
    async create(count) {
      for (let i = 0; i < count; i++) await ask(201, 'POST', '/plants', { name: `Plant ${i}` });
    },
    async events() {
      const found: string[] = [];
      for (let query = `limit=${PAGE}`; ; ) {
        // As above.
        const page = (await ask(200, 'GET', `/events?${query}`)) as { events: Event[]; cursor: string };
        found.push(...page.events.map(({ id }) => id));
        if (page.events.length < PAGE) return found;
        query = `limit=${PAGE}&cursor=${page.cursor}`;
      }
    },
    async webhook(id) {
      // As above.
      return (await ask(200, 'GET', `/webhooks/${id}`)) as WebhookAnswer;
    },
    settled: (id) =>
      eventually('end of the deliveries', async () => {
        const shown = await owner.webhook(id);
        return shown.waiting === 0 ? shown : undefined;
      }),
    async enable(id, enabled) {
      await ask(200, 'PATCH', `/webhooks/${id}`, { enabled });
    },
    async deliveries(id, query = '') {
      // As above.
      return (await ask(200, 'GET', `/webhooks/${id}/deliveries${query}`)) as DeliveryAnswer[];
    },
    async delivery(id, event) {
      const shown = await ask(200, 'GET', `/webhooks/${id}/deliveries/${event}`);
      // As above.
      return shown as Awaited<ReturnType<Owner['delivery']>>;
    },
    async redeliver(id, event) {
      await ask(202, 'POST', `/webhooks/${id}/deliveries/${event}/redeliver`);
    },
    async replay(id, state) {
      const body = { since: '1970-01-01T00:00:00Z', ...(state !== undefined && { state }) };
      // As above.
      return ((await ask(202, 'POST', `/webhooks/${id}/replay`, body)) as { count: number }).count;
    },
  };
  return owner;
}

type Event = { id: string };

/** The events in these requests, in order. */
export function eventsIn(received: readonly Received[]): string[] {
  return received.map(({ headers }) => String(headers['webhook-id']));
}
