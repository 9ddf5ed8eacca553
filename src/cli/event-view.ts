import { styleText } from 'node:util';
import { type Attempt, failureOf } from '../webhooks/attempt.ts';
import { eventTypes, type PlantEvent } from '../webhooks/port.ts';
import { membersOf } from './answer-reader.ts';
import { Failure } from './failure.ts';
import { readJson } from './json.ts';
import { visible } from './terminal.ts';

/** Reads an event out of the stream. Throws a `Failure` for what is none. */
export function parseEvent(text: string): PlantEvent {
  const event = membersOf(readJson(text));
  const plant = event.members('plant');
  const at = Date.parse(event.text('createdAt'));
  const type = eventTypes.find((each) => each === event.text('type'));
  if (type === undefined || Number.isNaN(at)) {
    throw new Failure('The service sent an event that this version of plant-store does not know.');
  }
  return {
    id: event.text('id'),
    type,
    at,
    plant: { id: plant.integer('id'), name: plant.text('name'), tag: plant.optionalText('tag') },
  };
}

/** One line, without its end: time, event, plant, name, and tag when there is one. */
export function eventLine({ id, at, plant }: PlantEvent, stream: NodeJS.WriteStream): string {
  const time = styleText('dim', new Date(at).toISOString(), { stream });
  const cells = [time, id, String(plant.id), visible(plant.name)];
  if (plant.tag !== undefined) cells.push(visible(plant.tag));
  return cells.join('  ');
}

/** What stands behind the line of an event that was forwarded: `-> 204 (3 ms)`, or why there was no answer. */
export function attemptNote(attempt: Attempt, stream: NodeJS.WriteStream): string {
  const { status, error, durationMs } = attempt;
  const note = `-> ${status ?? 'no answer'} (${durationMs} ms)`;
  const colour = failureOf(attempt) === undefined ? 'green' : 'red';
  return styleText(colour, error === undefined ? note : `${note}: ${error}`, { stream });
}
