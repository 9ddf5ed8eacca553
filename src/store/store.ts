import type { AccessStore } from '../access/port.ts';
import type { KeyStore } from '../idempotency/port.ts';
import type { StoreReadings } from '../observability/port.ts';
import type { PlantStore } from '../plants/port.ts';
import type { Clock } from '../runtime.ts';
import type { ChoreStore, DeliveryStore, EventStore, WebhookStore } from '../webhooks/port.ts';
import type { LanesOfMain } from './lane-threads.ts';

/** The keys of a store, which its copies take over. */
export type CursorKeys = {
  /** Seals cursors (`http/request/cursor.ts`): 256 bits, in hexadecimal. */
  secret: string;
  /** A random number that identifies the store and its copies. */
  storeKey: number;
};

export type WriteRules = {
  /** The delay from an event to the first attempt of its deliveries. */
  deliveryDelayMs: number;
  /** The most plants a user may have; undefined for no limit. */
  maxPlantsPerUser?: number | undefined;
};

/**
 * All stored data, with one port for each feature. Each write method is one transaction: no transaction crosses the
 * port, and a method resolves only when its effect is on disk.
 *
 * Writes fail with `AppError` 50300 (overloaded), 50302 (nothing was done) or 50301 (outcome unknown).
 */
export type Store = {
  plants: PlantStore;
  access: AccessStore;
  keys: KeyStore;
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  lanes: LanesOfMain;
  /** The clock of times in the store, if it is not this process's own. */
  clock?: Clock;
  events: EventStore;
  chores: ChoreStore;
  readings: StoreReadings;
  cursorKeys: CursorKeys;
  /** Whether writes would be refused now. */
  isFull(): boolean;
  /** Makes later reads see every commit before this call: reads may share an older snapshot. */
  refresh(): void;
  /** Throws when the store cannot answer. */
  check(): void;
  /** Commits the queued writes, then closes. May be called twice. */
  close(): Promise<void>;
};
