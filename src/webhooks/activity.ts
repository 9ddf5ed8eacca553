import { activity as limits } from '../limits.ts';
import { type Clock, firstId, timeSchema, timeText } from '../runtime.ts';
import type { Activity, DeliveryStore } from './port.ts';

const HOUR = 3_600_000;

/** An hour of UTC, and the outcomes of the events in it. */
export type ActiveHour = Activity & {
  /** Milliseconds since the Unix epoch. */
  from: number;
};

/**
 * The last hours, oldest first; the last hour is the current one. Counting takes time, so there are fewer hours than
 * requested if they hold many events.
 */
export async function activityOf(
  { deliveries, clock }: { deliveries: DeliveryStore; clock: Clock },
  viewer: number,
  hours: number,
  most: number = limits.countedRows,
): Promise<ActiveHour[]> {
  const newest = Math.floor(clock.now() / HOUR) * HOUR;
  const counted: ActiveHour[] = [];
  let left = most;
  for (let from = newest; counted.length < hours; from -= HOUR) {
    const range = { from: firstId('evt', from), before: firstId('evt', from + HOUR) };
    const activity = await deliveries.activity({ viewer, ...range, most: left });
    if (activity === undefined) break;
    counted.unshift({ from, ...activity });
    left -= activity.plants + activity.delivered + activity.failed + activity.waiting;
  }
  return counted;
}

/** The `ActiveHour` schema of the OpenAPI document. */
export const ActiveHourView = {
  $id: 'ActiveHour',
  type: 'object',
  required: ['from', 'plants', 'delivered', 'failed', 'waiting'],
  properties: {
    from: timeSchema('The start of the hour, in UTC.'),
    plants: { type: 'integer', description: 'Plants created, your own and those shared with you.' },
    delivered: { type: 'integer', description: 'Deliveries of your webhooks that succeeded.' },
    failed: { type: 'integer', description: 'Deliveries that failed for good.' },
    waiting: { type: 'integer', description: 'Deliveries that are pending or held.' },
  },
  description:
    'What happened in an hour. A delivery counts in the hour of its event, with its current state.',
  examples: [{ from: '2026-11-21T12:00:00.000Z', plants: 630, delivered: 1258, failed: 0, waiting: 2 }],
} as const;

export function activeHourJson({ from, ...counts }: ActiveHour): string {
  return JSON.stringify({ from: timeText(from), ...counts });
}
