/** A token bucket: each request takes a token, and they come back at the webhook's rate. */
export type Bucket = { readonly rate: number; readonly most: number; tokens: number; filledAt: number };

export type BucketRules = {
  /** Of a second's requests, how many may follow on each other at once. */
  rateBurst: number;
};

/** @param tokens how many there may be from the beginning */
export function newBucket(rate: number, tokens: number, { rateBurst }: BucketRules, now: number): Bucket {
  const most = Math.max(1, Math.floor(rate * rateBurst));
  return { rate, most, tokens: Math.min(most, tokens), filledAt: now };
}

/** When it has a token. */
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
