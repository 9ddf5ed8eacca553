/** Milliseconds since the Unix epoch as RFC 3339 in UTC, to the second. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

const UNITS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

export const durationRule = 'a number and a unit: 30m, 12h, 90d or 52w';

/** Milliseconds; undefined for what does not satisfy `durationRule`. At most 19 000 years, so that every end has a date. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([mhdw])$/.exec(text) ?? [];
  const length = UNITS[unit];
  return count === undefined || length === undefined ? undefined : Number(count) * length;
}
