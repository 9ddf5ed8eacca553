import type { Trace } from '../../tracing/port.ts';
import type { AttemptRecord, PlantEvent, SigningKeys } from '../port.ts';

/**
 * What delivery needs from a store. A *lane* is everything waiting for one webhook. One process owns it at a time,
 * reads what is due, keeps requests in flight in memory, and writes only outcomes.
 */

/** A due delivery, as the owner of its lane reads it. */
export type DueDelivery = {
  event: PlantEvent;
  /** The trace in which the event was created. */
  trace?: Trace | undefined;
  /** Since when it may be sent, in milliseconds since the Unix epoch. */
  due: number;
  /** Attempts since its schedule began. Below 0 after a restart: each one, also during an attempt, lowers it by 1. */
  step: number;
  /** Increases with each recorded attempt and each redelivery: an older outcome settles nothing. */
  generation: number;
  /** A manual delivery, which goes before the others. */
  isAsked: boolean;
  /** How often a process died that may have been sending it. */
  suspicions: number;
};

/** How to send to a webhook. */
export type LaneSettings = SigningKeys &
  Omit<LaneState, 'disabledReason'> & {
    /** The user it belongs to. */
    owner: number;
    url: string;
    /** The most attempts per second; undefined for as many as the lane takes. */
    rate: number | undefined;
  };

/** Lanes are read in this order: by `due`, then by event. */
export type Position = { due: number; event: string };

export type LaneRequest = {
  webhook: string;
  now: number;
  /** Reads only what comes after it, and manual deliveries in any case. Undefined for the beginning. */
  after: Position | undefined;
  limit: number;
  /** How many manual deliveries to read, from the first. */
  askedLimit: number;
};

export type LaneContents = {
  /** Undefined when nothing may be sent: the webhook is disabled or gone. */
  settings: LaneSettings | undefined;
  /** Manual deliveries in order, due or not, at most `askedLimit`. */
  asked: DueDelivery[];
  /** Deliveries in order, including manual ones, at most `limit`; fewer when no more are due, or before `through`. */
  due: DueDelivery[];
  /** The read ended here, before its limit, so that it took little time; more may be due. */
  through?: Position;
  /** When the first future delivery is due. */
  nextDue: number | undefined;
};

/** A lane has, or will have, something to send. */
export type Work = {
  webhook: string;
  /** When the first is due; undefined for now, whatever was known before. */
  due?: number | undefined;
  /** Whether one of them is a manual delivery. */
  isAsked?: boolean | undefined;
};

/** What a commit did to lanes. */
export type LaneNews = {
  work: readonly Work[];
  /** The webhooks that were deleted, or whose target or status changed. */
  changed: readonly string[];
};

export type NextState =
  | { state: 'delivered' }
  | { state: 'failed' }
  | { state: 'pending'; due: number; step: number };

/** An attempt and its consequences for its delivery and its webhook. */
export type Outcome = {
  webhook: string;
  /** The lane's fence when its owner took it. */
  fence: number;
  event: string;
  /** The generation the delivery had when it was read. */
  generation: number;
  /**
   * The step it had then. If the step has changed, a failure makes the delivery due at once with its whole schedule
   * ahead.
   */
  step: number;
  attempt: AttemptRecord;
  /** Why the attempt failed; undefined if it succeeded. */
  reason: string | undefined;
  next: NextState;
  /** Written to the webhook while it has the generation of these settings. */
  laneState: LaneState;
  /** What is new for the webhook: of concurrent requests, only one pauses or disables it. */
  begins: 'pause' | 'disabled' | undefined;
};

/** The state of a webhook. */
export type LaneState = {
  /** Increases when its owner changes its target or enables it: older attempts then say nothing about it. */
  generation: number;
  /** Nothing is sent before this time. */
  pausedUntil: number | undefined;
  /** The first failure since the last success. */
  failingSince: number | undefined;
  /** Why the service disables it. */
  disabledReason: string | undefined;
};

/**
 * `settled`: as intended. `anew`: it failed, but its schedule was restarted, so it is due. `late`: its generation is
 * outdated; the attempt is kept, and the delivery stays as it is. `gone`: there is no such delivery. `lost`: another
 * process owns the lane, and nothing is written.
 */
export type Recorded = 'settled' | 'anew' | 'late' | 'gone' | 'lost';

export interface LaneStore {
  /** A page of the lanes with pending deliveries of enabled webhooks, in the order of their ids. */
  findWork(after: string | undefined, limit: number): Promise<Work[]>;
  read(request: LaneRequest): Promise<LaneContents>;
  /** One transaction. An attempt that was recorded before is not written twice. */
  record(outcomes: readonly Outcome[]): Promise<Recorded[]>;
  /** Sets `suspicions` of a delivery that is about to be sent: a repeated call must not count twice. */
  suspect(webhook: string, event: string, generation: number, suspicions: number): Promise<void>;
  /** Calls back after commits of any process. Only a hint: `findWork` finds the rest. There is one listener. */
  listen(listener: (news: LaneNews) => void): void;
}
