import type { MessagePort } from 'node:worker_threads';
import type { EndedBatch } from '../observability/port.ts';
import type { Clock, Log } from '../runtime.ts';
import type { OwnedLanes } from '../webhooks/delivery/deliver.ts';
import type { LaneStore } from '../webhooks/delivery/port.ts';
import type { PlainError } from './failures.ts';

/** What the main thread of a service knows of the lanes, and how the thread that sends comes to them. */
export type LaneDoor = {
  /** Whether that thread is needed now. */
  hasWork(): Promise<boolean>;
  /** Calls back after a commit that gave lanes work. */
  onWork(listener: () => void): void;
  /** A way for that thread; the one before is closed. */
  connect(): LaneSource;
  /** Tells of a read of that thread for which the machine is at fault. */
  couldNotRead(error: PlainError): void;
};

/** Handed to a thread: what it opens the lanes with. */
export type LaneSource = EmbeddedSource | DatabaseSource;

export type EmbeddedSource = { kind: 'sqlite'; path: string; port: MessagePort };

export type DatabaseSource = {
  kind: 'postgres';
  /** As it was given, with the password. */
  url: string;
  connections: number;
  pooled: boolean;
  port: MessagePort;
};

export type LaneParts = {
  log: Log;
  /** Whether the process, or thread, before was ended uncleanly, maybe by what it sent. */
  isCareful: boolean;
  /** Called with each batch of outcomes that ended. */
  batchEnded(batch: EndedBatch): void;
  /** Called when the machine is at fault for a read that failed. */
  couldNotRead(error: PlainError): void;
};

/** The lanes as the thread that sends sees them. */
export type Lanes = {
  store: LaneStore;
  owners: OwnedLanes;
  /** By which deliveries are due. */
  clock: Clock;
  /** How many outcomes wait to be written down, and for how long the first of them has. */
  waiting(): { commands: number; ageMs: number };
  close(): Promise<void>;
};
