import { parseDateTime } from '../../webhooks/time.ts';

/** Milliseconds since the Unix epoch as RFC 3339 in UTC, to the second. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** From the smallest on. */
const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

export const durationRule = 'a number and a unit: 90s, 30m, 12h, 90d or 52w';

/** Milliseconds; undefined for what does not satisfy `durationRule`. At most 19 000 years, so that every end has a date. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([smhdw])$/.exec(text) ?? [];
  const length = UNITS[unit];
  return count === undefined || length === undefined ? undefined : Number(count) * length;
}

/** A length of time in the largest unit up to days that it fills, rounded down: `45s`, `2h`. */
export function roughDuration(ms: number): string {
  const units = Object.entries(UNITS).filter(([unit, length]) => unit !== 'w' && length <= ms);
  const [unit, length] = units.at(-1) ?? ['s', 1_000];
  return `${Math.floor(ms / length)}${unit}`;
}

export const sinceRule =
  'a duration back from now, such as 30m, 2h or 7d, or a time with its offset, such as 2026-11-21T09:00:00Z';

/** An RFC 3339 time, not before 1970 for a duration; undefined for what does not satisfy `sinceRule`. */
export function parseSince(text: string, now: number): string | undefined {
  const duration = parseDuration(text);
  if (duration !== undefined) return new Date(Math.max(0, now - duration)).toISOString();
  return parseDateTime(text) === undefined ? undefined : text;
}
