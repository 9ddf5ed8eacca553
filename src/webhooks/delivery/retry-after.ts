import { delivery } from '../../limits.ts';

const SECONDS = /^\d+$/;
/** The three date formats of HTTP (RFC 9110 §5.6.7). */
const DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

/**
 * Until when a `Retry-After` header (RFC 9110 §10.2.3) asks to wait, at most 24 hours; undefined for an invalid or past
 * one.
 */
export function pauseOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const until = SECONDS.test(header) ? now + Number(header) * 1000 : dateOf(header);
  return until > now ? Math.min(until, now + delivery.pauseMs) : undefined;
}

function dateOf(header: string): number {
  if (!DATE.test(header)) return Number.NaN;
  return Date.parse(header.endsWith('GMT') ? header : `${header} GMT`);
}
