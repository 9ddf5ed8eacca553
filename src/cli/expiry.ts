import { InvalidArgumentError } from 'commander';
import { durationRule, parseDuration } from './time.ts';

/** For a flag that says how long a token is good for: milliseconds. */
export function parseExpiry(text: string): number {
  const duration = parseDuration(text);
  if (duration !== undefined) return duration;
  throw new InvalidArgumentError(`It must be ${durationRule}.`);
}
