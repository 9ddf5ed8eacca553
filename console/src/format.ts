const numbers = new Intl.NumberFormat('en');
const dates = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** Each unit in milliseconds, and the finer one that decides whether a time to come is as far as that. */
const UNITS = [
  ['day', 86_400_000, 3_600_000],
  ['hour', 3_600_000, 60_000],
  ['minute', 60_000, 1_000],
  ['second', 1_000, 1_000],
] as const;

/** 1234567 as `1,234,567`. */
export function count(value: number | bigint): string {
  return numbers.format(value);
}

/** `1 plant`, `2 plants`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A text in a sentence that keeps its own direction, and leaves the sentence its own, as `<bdi>` does in a page. */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`;
}

/** Whether nothing of a text can be seen: as a link it could not be found, nor would it have a name. */
export function isBlank(text: string): boolean {
  return /^[\s\p{Default_Ignorable_Code_Point}]*$/u.test(text);
}

export function dateAndTime(at: number | string | Date): string {
  return dates.format(new Date(at));
}

/** `3 minutes ago`, `in 2 hours`; within a second `now`. A time to come is rounded, for clocks are seldom exact. */
export function fromNow(at: number | string | Date, now = Date.now()): string {
  const difference = new Date(at).getTime() - now;
  for (const [unit, ms, finer] of UNITS) {
    if (Math.round(difference / finer) * finer >= ms)
      return relative.format(Math.round(difference / ms), unit);
    if (-difference >= ms) return relative.format(Math.trunc(difference / ms), unit);
  }
  return 'now';
}

/** A duration in its largest unit: `3 s`, `5 min`, `2 h`, `4 d`. It does not wrap. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}\u00a0ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${trim(seconds)}\u00a0s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)}\u00a0min`;
  if (seconds < 86_400) return `${trim(seconds / 3_600)}\u00a0h`;
  return `${trim(seconds / 86_400)}\u00a0d`;
}

/** How long the oldest delivery waits; a moment counts as a second. */
export function age(seconds: number): string {
  return duration(Math.max(1, seconds) * 1_000);
}

function trim(value: number): string {
  return value < 10 ? value.toFixed(1).replace('.0', '') : String(Math.round(value));
}
