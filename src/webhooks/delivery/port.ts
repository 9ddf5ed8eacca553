import type { Trace } from '../../tracing/port.ts';
import type { AttemptRecord, PlantEvent, SigningKeys } from '../port.ts';

/**
 * What delivery needs of a store. A *lane* is everything that waits for one webhook. One process owns a lane at a time:
 * it reads what is due, keeps what is under way in memory, and writes outcomes only.
 */

/** A delivery that is due, as the owner of its lane reads it. */
export type DueDelivery = {
  event: PlantEvent;
  /** In which the event was made. */
  trace?: Trace | undefined;
  /** Since when it may be sent, in milliseconds since the Unix epoch. */
  due: number;
  /** Attempts since its schedule began; `ANEW` when it was begun anew. */
  step: number;
  /** Rises with each attempt that is written down and with each redelivery: an outcome of an older one settles nothing. */
  generation: number;
  /** A person asked for it: it goes ahead of what waits. */
  isAsked: boolean;
  /** How often a process ended uncleanly that may have been sending it. */
  suspicions: number;
};

/** The step of a delivery whose schedule was begun anew, maybe while an attempt was under way. */
export const ANEW = -1;

/** How a webhook is sent to. */
export type LaneSettings = SigningKeys & {
  url: string;
  /** The most attempts that may begin in a second; undefined for as many as the lane takes. */
  rate: number | undefined;
  /** Nothing is sent before. */
  pausedUntil: number | undefined;
  /** The first failure since the last success. */
  failingSince: number | undefined;
  /** Rises when its owner changes where it is sent to, or enables it: what an older attempt says of the webhook is void. */
  generation: number;
};

/** In the order in which a lane is read: by `due`, then by event. */
export type Position = { due: number; event: string };

export type LaneRequest = {
  webhook: string;
  now: number;
  /** Only what is behind it; what a person asked for is read whatever it is. Undefined for the beginning. */
  after: Position | undefined;
  limit: number;
  /** How many of those that a person asked for, from the first. */
  askedLimit: number;
};

export type LaneReading = {
  /** Undefined when nothing may be sent: the webhook is disabled or gone. */
  settings: LaneSettings | undefined;
  /** What a person asked for: at most `askedLimit`, in order; fewer when that is all that is due. */
  asked: DueDelivery[];
  /** At most `limit`, in order, those included that a person asked for; fewer when that is all that is due. */
  due: DueDelivery[];
  /** When the first delivery is due that is not due yet. */
  nextDue: number | undefined;
};

/** That a lane has, or will have, something to send. */
export type Work = {
  webhook: string;
  /** When the first is due; undefined for now, whatever was known before. */
  due?: number | undefined;
  /** Whether a person asked for one. */
  isAsked?: boolean | undefined;
};

export type NextState =
  | { state: 'delivered' }
  | { state: 'failed' }
  | { state: 'pending'; due: number; step: number };

/** An attempt, what becomes of its delivery, and what follows for its webhook. */
export type Outcome = {
  webhook: string;
  /** Of the lane, when its owner took it. */
  fence: number;
  event: string;
  /** That the delivery had when it was read. */
  generation: number;
  /** Likewise. When it is another by now, a failure makes the delivery due at once with the whole schedule before it. */
  step: number;
  attempt: AttemptRecord;
  /** Why the attempt failed; undefined for one that did not. */
  reason: string | undefined;
  next: NextState;
  /** What is written to the webhook, while it has the generation of these settings. */
  standing: Standing;
  /** What is new for the webhook: of requests that were under way together only one pauses, or disables, it. */
  begins: 'pause' | 'end' | undefined;
};

export type Standing = {
  generation: number;
  pausedUntil: number | undefined;
  failingSince: number | undefined;
  /** Why the service disables it. */
  disabledReason: string | undefined;
};

/**
 * `settled`: as meant. `anew`: it failed, and its schedule had been begun anew: it is due. `late`: its generation is over; the attempt is kept, and the delivery stays as it
 * is. `gone`: there is no such delivery. `lost`: another process owns the lane, and nothing is written.
 */
export type Recorded = 'settled' | 'anew' | 'late' | 'gone' | 'lost';

export interface LaneStore {
  /** A part of the lanes that have something pending, of enabled webhooks, in the order of their ids. */
  findWork(after: string | undefined, limit: number): Promise<Work[]>;
  read(request: LaneRequest): Promise<LaneReading>;
  /** One transaction. What was recorded before, by the same attempt, is not written twice. */
  record(outcomes: readonly Outcome[]): Promise<Recorded[]>;
  /** Raises `suspicions` of a delivery that is about to be sent. */
  suspect(webhook: string, event: string, generation: number): Promise<void>;
  /** Calls back after a commit, of this process or another, that gave lanes work. A hint: `findWork` finds the rest. */
  onWork(listener: (work: readonly Work[]) => void): void;
  /** Calls back after a commit that deleted a webhook, or changed where and whether it is sent to. */
  onChange(listener: (webhook: string) => void): void;
}
