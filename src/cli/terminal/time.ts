import { parseDateTime } from '../../webhooks/time.ts';
import { option, refuseValue } from '../verb.ts';

/** Milliseconds since the epoch as RFC 3339 in UTC, without fractions. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Ascending. */
const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

export const durationRule = 'a number and a unit: 90s, 30m, 12h, 90d or 52w';

/** Milliseconds; undefined for text that breaks `durationRule`. At most 19 000 years, so that every end has a date. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([smhdw])$/.exec(text) ?? [];
  const length = UNITS[unit];
  return count === undefined || length === undefined ? undefined : Number(count) * length;
}

/** For a flag that satisfies `durationRule`. */
export function parseLength(text: string): number {
  return parseDuration(text) ?? refuseValue(durationRule);
}

/** A duration in the largest unit up to days that it fills, rounded down: `45s`, `2h`. */
export function roughDuration(ms: number): string {
  const units = Object.entries(UNITS).filter(([unit, length]) => unit !== 'w' && length <= ms);
  const [unit, length] = units.at(-1) ?? ['s', 1_000];
  return `${Math.floor(ms / length)}${unit}`;
}

export const sinceRule =
  'a duration before now, such as 30m, 2h or 7d, or a time with an offset, such as 2026-11-21T09:00:00Z';

/** An RFC 3339 time, for a duration not before 1970; undefined for text that breaks `sinceRule`. */
export function parseSince(text: string, now: number): string | undefined {
  const duration = parseDuration(text);
  if (duration !== undefined) return new Date(Math.max(0, now - duration)).toISOString();
  return parseDateTime(text) === undefined ? undefined : text;
}

/** For a flag that satisfies `sinceRule`. */
export function parseTime(text: string): string {
  return parseSince(text, Date.now()) ?? refuseValue(sinceRule);
}

/** How long what a rotation replaces stays valid, in milliseconds. */
export function overlapOption(what: string, mostMs: number) {
  const rule = `a duration such as 30m, 12h or 7d, at most ${mostMs / 86_400_000}d; or 0 to end the old one now`;
  return option('--overlap <duration>', `how long ${what}: ${rule} (default: 24h)`, (text) => {
    const ms = /^0s?$/.test(text) ? 0 : (parseDuration(text) ?? Number.NaN);
    return ms <= mostMs ? ms : refuseValue(rule);
  });
}
