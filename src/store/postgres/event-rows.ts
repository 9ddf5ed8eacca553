import type { PlantEvent } from '../../webhooks/port.ts';
import type { Row } from './database.ts';

/** A row with id, type, created_at, plant (as text: as a number it would lose digits), name and tag. */
export function toEvent(row: Row): PlantEvent {
  return {
    id: String(row.id),
    type: row.type === 'plant.test' ? 'plant.test' : 'plant.created',
    at: Number(row.created_at),
    plant: {
      id: BigInt(String(row.plant)),
      name: String(row.name),
      tag: row.tag === null ? undefined : String(row.tag),
    },
  };
}
