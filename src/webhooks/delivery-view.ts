import { plantJson } from '../plants/plant.ts';
import { timeSchema, timeText } from '../runtime.ts';
import { EventId, EventType, PlantCreatedPayload } from './event.ts';
import { type AttemptRecord, type Delivery, deliveryStates } from './port.ts';

const AttemptView = {
  type: 'object',
  required: ['at', 'durationMs'],
  properties: {
    at: timeSchema('when the attempt began (RFC 3339)'),
    durationMs: { type: 'integer', minimum: 0, description: 'how long it took, in milliseconds' },
    address: { type: 'string', description: 'the address to which it was sent', examples: ['192.0.2.7'] },
    status: { type: 'integer', description: 'the HTTP status of the response; absent without one' },
    excerpt: { type: 'string', description: 'the beginning of the response body' },
    error: { type: 'string', description: 'why there was no complete response; absent when there was one' },
  },
} as const;

const required = ['webhook', 'event', 'type', 'plant', 'state', 'attempts', 'createdAt'] as const;
const properties = {
  webhook: {
    type: 'string',
    description: 'the id of the webhook',
    examples: ['wh_01k9f3zv7h8q2m5x4c6d0n1r8t'],
  },
  event: EventId,
  type: EventType,
  plant: PlantCreatedPayload,
  state: {
    enum: deliveryStates,
    description:
      'waiting or in flight (`pending`), waiting for the webhook to be enabled (`held`), delivered (`delivered`), ' +
      'or given up (`failed`)',
  },
  attempts: { type: 'integer', minimum: 0, description: 'the number of attempts' },
  nextAttemptAt: timeSchema(
    'when the next attempt is due; in the past while one is in flight or waits for its turn or the rate of its webhook; absent when there is none',
  ),
  reason: { type: 'string', description: 'why the last attempt failed; absent if it succeeded' },
  createdAt: timeSchema('when the event happened (RFC 3339)'),
} as const;

export const DeliveryView = {
  $id: 'Delivery',
  type: 'object',
  required,
  properties,
  description: 'One event on its way to one webhook.',
} as const;

export const DeliveryWithHistory = {
  $id: 'DeliveryWithHistory',
  type: 'object',
  required: [...required, 'history'],
  properties: {
    ...properties,
    history: { type: 'array', items: AttemptView, description: 'the attempts, oldest first' },
  },
  description: 'A delivery with its attempts.',
} as const;

/** A delivery as JSON text, for a response. */
export function deliveryJson({ webhook, event, state, attempts, nextAttemptAt, reason }: Delivery): string {
  const head = JSON.stringify({ webhook, event: event.id, type: event.type });
  const rest = JSON.stringify({
    state,
    attempts,
    nextAttemptAt: nextAttemptAt === undefined ? undefined : timeText(nextAttemptAt),
    reason,
    createdAt: timeText(event.at),
  });
  return `${head.slice(0, -1)},"plant":${plantJson(event.plant)},${rest.slice(1)}`;
}

/** The same with the attempts. */
export function deliveryWithHistoryJson(delivery: Delivery, attempts: readonly AttemptRecord[]): string {
  const history = attempts.map(({ at, ...rest }) => ({ at: timeText(at), ...rest }));
  return `${deliveryJson(delivery).slice(0, -1)},"history":${JSON.stringify(history)}}`;
}
