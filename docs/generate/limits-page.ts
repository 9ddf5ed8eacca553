import { readFileSync } from 'node:fs';
import type * as limits from '../../src/limits.ts';
import {
  access,
  activity,
  backups,
  chores,
  database,
  delivery,
  feeds,
  http,
  idempotency,
  identityProvider,
  lanes,
  list,
  lookups,
  observability,
  plants,
  processes,
  sending,
  storage,
  tracing,
  writes,
} from '../../src/limits.ts';
import { bounds, type LimitName } from './bounds.ts';
import { code, table } from './table.ts';

const INTRODUCTION = `# Limits

Every queue, body, loop and wait of the service is bounded. The values are in \`src/limits.ts\` and are not settings.`;

/** A missing group is a type error. */
const groups: Readonly<Record<keyof typeof limits, { title: string; values: object }>> = {
  http: { title: 'Requests', values: http },
  plants: { title: 'Plants', values: plants },
  list: { title: 'Lists', values: list },
  access: { title: 'Users and tokens', values: access },
  identityProvider: { title: 'JWTs', values: identityProvider },
  idempotency: { title: 'Idempotency keys', values: idempotency },
  writes: { title: 'Writes', values: writes },
  storage: { title: 'The embedded store', values: storage },
  database: { title: 'PostgreSQL', values: database },
  delivery: { title: 'Webhooks', values: delivery },
  lanes: { title: 'Replicas that send', values: lanes },
  sending: { title: 'The thread that sends', values: sending },
  lookups: { title: 'Name look-ups', values: lookups },
  chores: { title: 'Replay, removal and retention', values: chores },
  feeds: { title: 'Deliveries and events', values: feeds },
  activity: { title: 'Activity', values: activity },
  tracing: { title: 'Traces', values: tracing },
  observability: { title: 'Metrics and logs', values: observability },
  processes: { title: 'The process', values: processes },
  backups: { title: 'Backups', values: backups },
};

export function limitsPage(): string {
  const reasons = reasonsIn(readFileSync(new URL('../../src/limits.ts', import.meta.url), 'utf8'));
  const sections = Object.entries(groups).map(([group, { title, values }]) => {
    const rows = Object.entries(values).map(([key, value]) => {
      const name = `${group}.${key}`;
      // The type of `bounds` ensures an entry for each limit.
      return [code(name), shown(key, value), reasons.get(name) ?? '', bounds[name as LimitName]];
    });
    return `## ${title}\n\n${table(['Limit', 'Value', 'What and why', 'At the bound'], rows)}`;
  });
  return [INTRODUCTION, ...sections].join('\n\n');
}

function reasonsIn(source: string): Map<string, string> {
  const reasons = new Map<string, string>();
  for (const [, group, body = ''] of source.matchAll(/^export const (\w+) = \{\n(.*?)^\} as const;/gms)) {
    for (const [, comment = '', key] of body.matchAll(/^ {2}\/\*\*((?:(?!\*\/).)*)\*\/\s*(\w+):/gms)) {
      reasons.set(`${group}.${key}`, comment.replace(/\s*\n\s*\*\s?/g, ' ').trim());
    }
  }
  return reasons;
}

/** A value with its unit, which the end of its name says. */
function shown(name: string, value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([part, each]) => `${part} ${shown(name, each)}`)
      .join(', ');
  }
  const number = Number(value);
  if (name.endsWith('Ms')) return inUnits(number, TIMES);
  if (name.endsWith('Bytes')) return inUnits(number, SIZES);
  if (name.endsWith('Seconds')) return `${number} s`;
  if (name === 'jitter') return `${number * 100} %`;
  return number.toLocaleString('en');
}

type Units = readonly (readonly [size: number, name: string])[];

const TIMES: Units = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [1000, 's'],
  [1, 'ms'],
];
const SIZES: Units = [
  [1024 * 1024, 'MiB'],
  [1024, 'KiB'],
  [1, 'bytes'],
];

/** Uses the largest unit that gives a whole number. */
function inUnits(value: number, units: Units): string {
  const [size, name] = units.find(([each]) => value % each === 0) ?? [1, ''];
  return `${value / size} ${name}`;
}
