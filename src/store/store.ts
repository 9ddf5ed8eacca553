import type { AccessStore } from '../access/port.ts';
import type { KeyStore } from '../idempotency/port.ts';
import type { StoreReadings } from '../observability/port.ts';
import type { PlantStore } from '../plants/port.ts';
import type { Clock } from '../runtime.ts';
import type { ChoreStore, DeliveryStore, EventStore, WebhookStore } from '../webhooks/port.ts';
import type { LaneDoor } from './lane-door.ts';

/** What cursors are sealed with (`http/cursor.ts`). */
export type CursorKeys = {
  /** 256 bits, in hexadecimal. */
  secret: string;
  /** What a checksum in their place was keyed by: a random number that belongs to this store and to its copies. */
  oldKey: number;
  /** Until when such cursors are given out, in milliseconds since the Unix epoch; 0 for never. */
  oldUntil: number;
};

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
  lanes: LaneDoor;
  /** By which times in the store are, where that is not this process's own. */
  clock?: Clock;
  events: EventStore;
  chores: ChoreStore;
  readings: StoreReadings;
  cursorKeys: CursorKeys;
  /** Whether writes would be refused at once. */
  isFull(): boolean;
  /** Throws when the store cannot answer. */
  check(): void;
  /** Commits what is queued, then closes. May be called twice. */
  close(): Promise<void>;
};
