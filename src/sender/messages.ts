import type { Measures, SendingReading } from '../observability/port.ts';
import type { LaneSource } from '../store/lane-threads.ts';
import type { PlainError } from '../store/write-outcomes.ts';
import type { TracingOptions } from '../tracing/open.ts';
import type { DeliveryMeasures } from '../webhooks/delivery/reports.ts';
import type { DeliverySettings } from '../webhooks/delivery/rules.ts';

/** What the main thread and the sender thread tell each other. */

export type SenderThreadOptions = SenderSettings & {
  source: LaneSource;
  /** Whether the previous process died, possibly because of what it sent. */
  isCareful: boolean;
};

export type SenderSettings = DeliverySettings & {
  /** `WEBHOOK_ALLOWED_NETWORKS`. */
  networks: string;
  /** Each with a port if needed; by default those of the machine. */
  nameServers?: readonly string[];
  /** The version of the service, for `user-agent`. */
  version: string;
  /** The service's public URL, for `ce-source`. */
  publicUrl: string;
  /** Whether the log shows debug messages. */
  logsDebug: boolean;
  isMeasured: boolean;
  /** Undefined when no traces are collected. */
  traces: TracingOptions | undefined;
};

/** To the thread: report the state of the lanes, or stop. */
export type SenderRequest = 'reading' | 'stop';

export type SenderNews =
  | { log: 'debug' | 'info' | 'warn' | 'error'; context: object; message: string }
  | { measured: readonly Measured[] }
  | { reading: SendingReading }
  | { couldNotRead: PlainError };

/** An error as data: a message would drop the codes, and its other members may not pass at all. */
export function flat(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? error.code : undefined;
  const flatCause = cause instanceof Error ? flat(cause) : undefined;
  // Without a constructor, the log takes the type of an error from its name.
  return { constructor: undefined, name, message, stack, code, cause: flatCause };
}

/** A method of `Measures` and its arguments. */
export type Measured = {
  [Name in keyof DeliveryMeasures]: readonly [Name, ...Parameters<Measures[Name]>];
}[keyof DeliveryMeasures];

/** The reading of a thread that has not started. */
export const NOTHING: SendingReading = {
  underWay: 0,
  silent: 0,
  failing: 0,
  queue: { queue: 'dispatch', commands: 0, ageMs: 0 },
};
