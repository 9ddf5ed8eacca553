import type { MessagePort } from 'node:worker_threads';
import type { Clock, Log } from '../runtime.ts';
import type { LaneOwners } from '../webhooks/delivery/deliver.ts';
import type { LaneStore, Work } from '../webhooks/delivery/port.ts';
import type { PlainError } from './write-outcomes.ts';

/** The main thread's view of the lanes, and how the sender thread connects to them. */
export type LanesOfMain = {
  /** Whether the sender thread is needed now. */
  hasWork(): Promise<boolean>;
  /** Calls back after a commit that added work to lanes. */
  onWork(listener: () => void): void;
  /** Connects the sender thread and closes its previous connection. */
  connect(): LaneSource;
  /** Reports a failed read of the sender thread that the machine is to blame for. */
  couldNotRead(error: PlainError): void;
};

/** What a thread needs to open the lanes. */
export type LaneSource = EmbeddedSource | DatabaseSource;

export type EmbeddedSource = { kind: 'sqlite'; path: string; port: MessagePort };

export type DatabaseSource = {
  kind: 'postgres';
  /** As configured, with the password. */
  url: string;
  connections: number;
  pooled: boolean;
  port: MessagePort;
};

export type LaneParts = {
  log: Log;
  /** Whether the previous process or thread died, possibly because of what it sent. */
  isCareful: boolean;
  /** Called when a read fails and the machine is to blame. */
  couldNotRead(error: PlainError): void;
};

/** The lanes as the sender thread sees them. */
export type Lanes = {
  store: LaneStore;
  owners: LaneOwners;
  /** The time that requests carry. */
  clock: Clock;
  /** The clock that due times refer to. It never goes back. */
  dueClock: Clock;
  close(): Promise<void>;
};

/** What is known of a lane from two pieces of news. */
export function together(one: Work | undefined, other: Work): Work {
  if (!one) return other;
  const isAsked = one.isAsked === true || other.isAsked === true;
  return { ...((one.due ?? 0) > (other.due ?? 0) ? other : one), isAsked };
}
