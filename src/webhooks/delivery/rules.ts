import type { delivery } from '../../limits.ts';
import type { Schedule } from './schedule.ts';

/** A table of limits, perhaps with other values. */
export type Bounds<Table> = {
  [Name in keyof Table]: Table[Name] extends number ? number : { [Part in keyof Table[Name]]: number };
};

/** What the operator sets. */
export type DeliverySettings = {
  schedule: Schedule;
  /** A webhook is disabled after every attempt has failed for this long. */
  disableAfterMs: number;
  /** Requests in flight to one webhook. */
  concurrency: number;
};

/** The limits and settings of delivery. */
export type Rules = Bounds<typeof delivery> &
  DeliverySettings & {
    /** From 0 to 1, for the jitter of delays. */
    random(): number;
  };
