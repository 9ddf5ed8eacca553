import type { AccessStore } from '../access/port.ts';
import type { KeyStore } from '../idempotency.ts';
import type { StoreReadings } from '../measures.ts';
import type { PlantStore } from '../plants/port.ts';
import type { ChoreStore, DeliveryStore, EventStore, Outbox, WebhookStore } from '../webhooks/port.ts';

/**
 * Everything that is kept, behind one port for each feature. Each write method is one whole transaction:
 * no transaction crosses the port, and a method resolves only when its effect is on disk.
 *
 * Writes fail with `AppError` 50300 (overloaded), 50302 (nothing was done) or 50301 (outcome unknown).
 */
export type Store = {
  plants: PlantStore;
  access: AccessStore;
  keys: KeyStore;
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  outbox: Outbox;
  events: EventStore;
  chores: ChoreStore;
  readings: StoreReadings;
  /** A random number that belongs to this store: cursors are bound to it. */
  key: number;
  /** Whether writes would be refused at once. */
  isFull(): boolean;
  /** Throws when the store cannot answer. */
  check(): void;
  /** Commits what is queued, then closes. May be called twice. */
  close(): Promise<void>;
};
