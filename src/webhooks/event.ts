import { Id, Name, plantJson, Tag } from '../plants/plant.ts';
import { timeSchema, timeText } from '../runtime.ts';
import { eventTypes, type PlantEvent } from './port.ts';

/** The body of a delivery: the plant as it was created. */
export const PlantCreatedPayload = {
  $id: 'NewPlant',
  type: 'object',
  required: ['id', 'name'],
  properties: { id: Id, name: Name, tag: Tag },
  description: 'The plant that was added to the store, as it was created.',
} as const;

export const EventId = {
  type: 'string',
  description: 'the id of the event: the `webhook-id` of its deliveries',
  examples: ['evt_01k9f3zv7h8q2m5x4c6d0n1r8t'],
} as const;

export const EventType = {
  enum: eventTypes,
  description: 'what happened; `plant.test` is a test that its owner requested',
} as const;

/** An element of the event feed. */
export const EventView = {
  $id: 'Event',
  type: 'object',
  required: ['id', 'type', 'createdAt', 'plant'],
  properties: {
    id: EventId,
    type: EventType,
    createdAt: timeSchema('when it happened (RFC 3339)'),
    plant: PlantCreatedPayload,
  },
  description: 'Something that happened to a plant.',
} as const;

/** An event as JSON text in one line, for a response. */
export function eventJson({ id, type, at, plant }: PlantEvent): string {
  const head = JSON.stringify({ id, type, createdAt: timeText(at) });
  return `${head.slice(0, -1)},"plant":${plantJson(plant)}}`;
}
