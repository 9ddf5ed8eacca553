/**
 * Requests that are done once, however often they are sent (draft-ietf-httpapi-idempotency-key-header): what a
 * write and the store need to know of them.
 */

import type { Span } from '../tracing/port.ts';

/** Who waits for a write. */
export type Caller = {
  /** Nothing is done for a user who is disabled or deleted by the time of the write. */
  user: number;
  /** Whether the client has left: what was not begun for it need not be done. */
  hasLeft(): boolean;
  /** Of a request with an Idempotency-Key: the answer is kept in the transaction of the effect. */
  once: Once | undefined;
  /** Of the request; absent when it is not traced. */
  span?: Span | undefined;
};

/** What a key belongs to. */
export type RequestKey = { user: number; method: string; path: string; key: string };

export type Once = RequestKey & {
  /** Tells this request from others: SHA-256 of its body, in hexadecimal. */
  fingerprint: string;
  /** Milliseconds since the Unix epoch: when the request came, and until when its answer is kept. */
  at: number;
  expiresAt: number;
  answer: PlannedAnswer;
};

export type KeptAnswer = { status: number; location: string | undefined; body: string };

/** `appendsId`: the location ends with the id that the store assigns, which is appended when the answer is kept. */
export type PlannedAnswer = KeptAnswer & { appendsId?: boolean };

export type KeptRecord = { fingerprint: string; answer: KeptAnswer };

/** What keys need of a store. */
export interface KeyStore {
  /** Undefined when there is none, or when it is over. */
  keptAnswer(request: RequestKey, now: number): Promise<KeptRecord | undefined>;
  /**
   * Keeps the answer to a request that changed nothing. False when there is one that is not over, which stays: of a
   * request with the same key that another replica did meanwhile.
   */
  keepAnswer(once: Once): Promise<boolean>;
}
