import type { Rules } from './rules.ts';

/** A token bucket: each request takes a token, and tokens are refilled at the webhook's rate. */
export type Bucket = { readonly rate: number; readonly most: number; tokens: number; filledAt: number };

/** @param tokens how many tokens it starts with */
export function newBucket(rate: number, tokens: number, { rateBurst }: Rules, now: number): Bucket {
  const most = Math.max(1, Math.floor(rate * rateBurst));
  return { rate, most, tokens: Math.min(most, tokens), filledAt: now };
}

/** When a token is available. */
export function admitsAt(bucket: Bucket, now: number): number {
  fill(bucket, now);
  return bucket.tokens >= 1 ? now : now + Math.ceil(((1 - bucket.tokens) * 1000) / bucket.rate);
}

export function isFull(bucket: Bucket, now: number): boolean {
  fill(bucket, now);
  return bucket.tokens >= bucket.most;
}

function fill(bucket: Bucket, now: number): void {
  // A clock that was set back must not stop the flow.
  const passed = Math.max(0, now - bucket.filledAt);
  bucket.tokens = Math.min(bucket.most, bucket.tokens + (passed / 1000) * bucket.rate);
  bucket.filledAt = now;
}
