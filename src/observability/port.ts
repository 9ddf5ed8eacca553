import type { ErrorCode } from '../errors.ts';

/**
 * What the parts of the service tell whoever measures it. Passed in, and undefined when nobody does: then nothing is
 * counted, and of the times only those of requests are taken, for the log (`http/request-watch.ts`). Each method is
 * called on the way of a request, so it must be cheap and never throw.
 */
export type Measures = {
  requestBegan(): void;
  requestEnded(request: EndedRequest): void;
  /** An Error object was answered to a request. */
  failed(code: ErrorCode): void;
  /** The same for one that never began: it was refused before it came to a route. */
  refused(code: ErrorCode, request?: { method: string | undefined; durationMs: number }): void;
  /** The reader of a list was reset: too many were as slow, and it was the slowest. */
  listReset(): void;
  batchEnded(queue: QueueName, batch: EndedBatch): void;
  attemptEnded(end: AttemptEnd, durationMs: number): void;
  /** A delivery was not sent after all. */
  attemptNotMade(): void;
  /** The receiver of a webhook asked for a pause. */
  webhookPaused(): void;
  /** The service disables a webhook, since its receiver is gone or has failed for days. */
  webhookDisabled(): void;
};

export type EndedRequest = {
  method: string;
  /** The pattern, such as `/plants/:id`; never the path that was asked for. Undefined where no route took it. */
  route: string | undefined;
  /** Undefined when the client left before the whole answer was sent. */
  status: number | undefined;
  durationMs: number;
};

/** What delivery writes has a queue of its own: on the embedded store in the thread that sends. */
export const queueNames = ['writes', 'dispatch'] as const;
export type QueueName = (typeof queueNames)[number];

/** A batch of commands, with which one transaction is made, or few. */
export type EndedBatch = {
  commands: number;
  /** How long the first of them had waited when it began. */
  waitMs: number;
  commitMs: number;
  /** Of the commands that failed, by faults of their own or of the store. */
  failures: readonly ErrorCode[];
};

/** What an attempt meant for its delivery: done, to be tried again, or given up. */
export const attemptEnds = ['delivered', 'retrying', 'failed'] as const;
export type AttemptEnd = (typeof attemptEnds)[number];

/** What the store knows of itself at the moment it is asked. */
export type StoreReadings = {
  kind: 'sqlite' | 'postgres';
  /** At once. */
  queues(): readonly QueueReading[];
  /** Costs a few system calls, or a question to the database. */
  size(): Promise<SizeReading>;
  /** Looks at each webhook, a part at a time: a few microseconds each. Ask seldom. */
  webhooks(now: number): Promise<WebhooksReading>;
};

export type QueueReading = {
  queue: QueueName;
  /** Commands that wait for a commit. */
  commands: number;
  /** How long the first of them has waited; 0 when there is none. */
  ageMs: number;
};

export type SizeReading = {
  bytes: number;
  /** On the file system that holds it; undefined where the store is on another machine. */
  freeBytes: number | undefined;
};

export type WebhooksReading = {
  enabled: number;
  /** Of those that are enabled: their receiver asked for a pause. */
  paused: number;
  disabled: number;
  /** The event of the oldest delivery that is pending, and of the oldest that is held; undefined without one. */
  oldestPending: string | undefined;
  oldestHeld: string | undefined;
  /** Since when the first delivery is due that could be sent; undefined when none is due. */
  dueSince: number | undefined;
};

/** How sending stands. */
export type SendingReading = LaneReading & { queue: QueueReading };

/** How lanes stand: each counts once, as the first that is true of it. */
export type LaneReading = {
  /** Deliveries whose attempt has begun and not ended. */
  underWay: number;
  /** The last attempt got no whole answer: one attempt at a time. */
  silent: number;
  /** The last attempts failed: one attempt at a time, with pauses. */
  failing: number;
};
