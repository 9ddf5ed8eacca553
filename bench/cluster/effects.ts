import { summary, table } from '../measure/report.ts';
import type { Cluster } from './cluster.ts';
import type { Monitor } from './monitor.ts';
import type { Happened } from './schedule.ts';

/** What clients noticed of a fault. Times are in milliseconds. */
export type Effect = Happened & {
  /** The longest time without an acknowledged create, through any replica. */
  withoutWritesMs: number;
  /** The same through the replica that had the longest. */
  withoutWritesAtOneMs: number;
  /** From the promotion of another server to the first acknowledged create, through any replica; undefined without one. */
  afterPromotionMs: number | undefined;
  /** The same until every replica has acknowledged one. */
  everywhereAfterPromotionMs: number | undefined;
  /** The longest time from an acknowledged create to its delivery. */
  deliveredMs: number;
  /** Deliveries that arrived more than once. */
  repeated: number;
};

/** The effects of a fault are looked for until this long after its end, or before the next. */
const AFTERWARDS_MS = 5_000;
const BEFORE_MS = 1_000;

export function effectsOf(
  happened: readonly Happened[],
  { acknowledged, deliveries }: Monitor,
  promotions: Cluster['promotions'],
): Effect[] {
  const each = [...acknowledged.values()];
  const all = each.flat().toSorted((a, b) => a - b);
  return happened.map((fault) => {
    const next = Math.min(...happened.map(({ begin }) => begin).filter((begin) => begin > fault.begin));
    const [from, to] = [
      fault.begin,
      Math.max(fault.end, Math.min(fault.end + AFTERWARDS_MS, next - BEFORE_MS)),
    ];
    const promoted = promotions.find(
      ({ at, database }) => at > from && at < to && database !== fault.target,
    )?.at;
    const during = [...deliveries.values()].filter(({ created }) => created > from && created < to);
    return {
      ...fault,
      withoutWritesMs: longestGap(all, from, to),
      withoutWritesAtOneMs: Math.max(...each.map((times) => longestGap(times, from, to))),
      afterPromotionMs: promoted && firstAfter(all, promoted),
      everywhereAfterPromotionMs: promoted && Math.max(...each.map((times) => firstAfter(times, promoted))),
      deliveredMs: Math.max(0, ...during.map(({ created, arrived = Infinity }) => arrived - created)),
      repeated: during.filter(({ times }) => times > 1).length,
    };
  });
}

/** Of rising times, with gaps that only partly lie within the limits. */
function longestGap(times: readonly number[], from: number, to: number): number {
  const gaps = times.slice(1).map((time, n) => ({ begin: times[n] ?? 0, end: time }));
  return Math.max(
    0,
    ...gaps.filter(({ begin, end }) => end > from && begin < to).map(({ begin, end }) => end - begin),
  );
}

function firstAfter(times: readonly number[], moment: number): number {
  return (times.find((time) => time > moment) ?? Infinity) - moment;
}

const HEAD = [
  ...[
    'fault',
    'times',
    's without writes',
    'at one replica',
    's from promotion to a write',
    'at all replicas',
  ],
  ...['s to deliver', 'repeated'],
];

/** Medians, and the most, of each kind of fault. */
export function effectTable(effects: readonly Effect[]): string {
  const rows = [...Map.groupBy(effects, ({ kind }) => kind)].map(([kind, some]) => [
    kind,
    String(some.length),
    secondsOf(some.map(({ withoutWritesMs }) => withoutWritesMs)),
    secondsOf(some.map(({ withoutWritesAtOneMs }) => withoutWritesAtOneMs)),
    secondsOf(some.flatMap(({ afterPromotionMs }) => afterPromotionMs ?? [])),
    secondsOf(some.flatMap(({ everywhereAfterPromotionMs }) => everywhereAfterPromotionMs ?? [])),
    secondsOf(some.map(({ deliveredMs }) => deliveredMs)),
    String(some.reduce((sum, { repeated }) => sum + repeated, 0)),
  ]);
  return table(HEAD, rows.toSorted());
}

function secondsOf(values: number[]): string {
  if (values.length === 0) return '';
  const { median, max } = summary(values);
  return values.length === 1 ? short(max) : `${short(median)}, at most ${short(max)}`;
}

const short = (ms: number) => (ms / 1_000).toFixed(1);
