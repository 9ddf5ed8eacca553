/** Times in requests: RFC 3339 §5.6. */

/** A time in a request. */
export const DateTime = {
  type: 'string',
  format: 'date-time',
  description:
    'a valid RFC 3339 date-time, such as 2026-11-21T08:00:00Z or 2026-11-21T09:00:00.5+01:00; ' +
    'leap seconds are not supported',
  examples: ['2026-11-21T08:00:00Z'],
} as const;

const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/**
 * Milliseconds since the Unix epoch, truncated. Undefined for an invalid date-time, and for a leap second, which the
 * Unix epoch does not count. `Date.parse` alone accepts much more.
 */
export function parseDateTime(text: string): number | undefined {
  const [, date] = DATE_TIME.exec(text) ?? [];
  return date !== undefined && isDay(date) ? Date.parse(text.toUpperCase()) : undefined;
}

/** Whether the calendar has this day; `Date.parse` reads the 30th of February as the 2nd of March. */
function isDay(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
}
