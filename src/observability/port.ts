import type { ErrorCode } from '../errors.ts';

/**
 * What the parts of the service report to metrics. Passed in, and undefined when metrics are off: then nothing is
 * counted, and only requests are timed, for the log (`http/observe/request-watch.ts`). Each method is called while a
 * request is handled, so it must be cheap and never throw.
 */
export type Measures = {
  requestBegan(): void;
  requestEnded(request: EndedRequest): void;
  /** The service answered with an Error object. */
  failed(code: ErrorCode): void;
  /** The same for a request that was refused before routing. */
  refused(code: ErrorCode, request?: { method: string | undefined; durationMs: number }): void;
  batchEnded(queue: QueueName, batch: EndedBatch): void;
  attemptEnded(end: AttemptEnd, durationMs: number): void;
  happened(what: Happening): void;
};

/**
 * What is only counted. `listsReset`: the reader of a list was reset, because too many had stalled and it was the
 * slowest. `notMade`: a delivery was not sent after all. `pauses`: a webhook's receiver requested a pause. `disabled`:
 * the service disables a webhook whose receiver is gone or has failed for days.
 */
export type Happening = 'listsReset' | 'notMade' | 'pauses' | 'disabled';

export type EndedRequest = {
  method: string;
  /** The pattern, such as `/plants/:id`; never the requested path. Undefined if no route matched. */
  route: string | undefined;
  /** Undefined when the client left before the whole response was sent. */
  status: number | undefined;
  durationMs: number;
};

/** `writes`: the commands of requests. `dispatch`: the outcomes of attempts. */
export const queueNames = ['writes', 'dispatch'] as const;
type QueueName = (typeof queueNames)[number];

/** A batch of commands or outcomes, committed in one or a few transactions. */
export type EndedBatch = {
  commands: number;
  /** How long the first command had waited when the batch began. */
  waitMs: number;
  commitMs: number;
  /** The failed commands, whether by their own fault or the store's. */
  failures: readonly ErrorCode[];
};

/** The result of an attempt for its delivery: done, to be retried, or given up. */
export const attemptEnds = ['delivered', 'retrying', 'failed'] as const;
type AttemptEnd = (typeof attemptEnds)[number];

/** What the store reports about itself when asked. */
export type StoreReadings = {
  kind: 'sqlite' | 'postgres';
  /** Synchronous. */
  queues(): readonly QueueReading[];
  /** Costs a few system calls or a database query. */
  size(): Promise<SizeReading>;
  /** Reads every webhook, a part at a time, a few microseconds each. Call it rarely. */
  webhooks(now: number): Promise<WebhooksReading>;
};

export type QueueReading = {
  queue: QueueName;
  /** Commands that wait for a commit, or outcomes not yet recorded. */
  commands: number;
  /** How long the oldest has waited; 0 when there is none. */
  ageMs: number;
};

export type SizeReading = {
  bytes: number;
  /** On the file system that holds it; undefined where the store is on another machine. */
  freeBytes: number | undefined;
};

export type WebhooksReading = {
  enabled: number;
  /** Enabled webhooks whose receiver requested a pause. */
  paused: number;
  disabled: number;
  /** The ids of the events of the oldest pending and the oldest held delivery; undefined without one. */
  oldestPending: string | undefined;
  oldestHeld: string | undefined;
  /** Since when the first sendable delivery is due; undefined when none is due. */
  dueSince: number | undefined;
};

/** The state of sending. */
export type SendingReading = LaneCounts & { queue: QueueReading };

/** Counts of lanes. Each lane counts in one state, the first that applies. */
export type LaneCounts = {
  /** Deliveries in flight. */
  underWay: number;
  /** The last attempt got no complete response: one attempt at a time. */
  silent: number;
  /** The last attempts failed: one attempt at a time, with pauses. */
  failing: number;
};
