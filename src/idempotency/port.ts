/**
 * Requests that take effect once, however often they are sent (draft-ietf-httpapi-idempotency-key-header): what a
 * write and the store need to know of them.
 */

import type { Span } from '../tracing/port.ts';

/** The client that waits for a write. */
export type Caller = {
  /** Nothing is done for a user who is disabled or deleted by the time of the write. */
  user: number;
  /** Whether the client has left. Work not yet started for it can be skipped. */
  hasLeft(): boolean;
  /** For a request with an Idempotency-Key: the answer is stored in the same transaction as the effect. */
  once: Once | undefined;
  /** The request's span; absent when it is not traced. */
  span?: Span | undefined;
};

/** The caller of a write, given the operation's result if it succeeds. */
export type CallerFor<Result> = (result: Result) => Caller;

/** What identifies a key. */
export type RequestKey = { user: number; method: string; path: string; key: string };

export type Once = RequestKey & {
  /** Distinguishes different requests: SHA-256 of the query, a line feed and the body, in hexadecimal. */
  fingerprint: string;
  /** Milliseconds since the Unix epoch: when the request arrived, and until when its answer is kept. */
  at: number;
  expiresAt: number;
  answer: PlannedAnswer;
};

export type KeptAnswer = { status: number; location: string | undefined; body: string };

/** `appendsId`: the location ends with the id that the store assigns, which is appended when the answer is kept. */
export type PlannedAnswer = KeptAnswer & { appendsId?: boolean };

export type KeptRecord = KeptAnswer & Pick<Once, 'fingerprint'>;

/** What idempotency keys need from a store. */
export interface KeyStore {
  /** Undefined when there is none or it has expired. */
  keptAnswer(request: RequestKey, now: number): Promise<KeptRecord | undefined>;
  /**
   * A write that only stores the answer: to a request that changed nothing.
   * @throws AppError 40901 when an unexpired answer exists: another replica handled a request with the same key
   * meanwhile. That answer stays.
   */
  keepAnswer(once: Once): Promise<void>;
}
