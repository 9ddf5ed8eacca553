import { type Attempt, failureOf } from '../webhooks/attempt.ts';
import { eventTypes, type PlantEvent } from '../webhooks/port.ts';
import { membersOf } from './answer-reader.ts';
import { Failure } from './failure.ts';
import { readJson } from './json.ts';
import type { Line, Styled } from './terminal.ts';

/**
 * Reads an event out of the stream. Undefined for one of a type that a later version of the service has made up.
 * Throws a `Failure` for what is no event.
 */
export function parseEvent(text: string): PlantEvent | undefined {
  const event = membersOf(readJson(text));
  const name = event.text('type');
  const type = eventTypes.find((each) => each === name);
  if (type === undefined) return undefined;
  const plant = event.members('plant');
  const at = Date.parse(event.text('createdAt'));
  if (Number.isNaN(at)) throw new Failure('The service sent an event whose "createdAt" is not a time.');
  return {
    id: event.text('id'),
    type,
    at,
    plant: { id: plant.integer('id'), name: plant.text('name'), tag: plant.optionalText('tag') },
  };
}

/** Time, event, plant, name, and tag when there is one. */
export function eventLine({ id, at, plant }: PlantEvent): Line {
  const cells = [id, String(plant.id), plant.name];
  if (plant.tag !== undefined) cells.push(plant.tag);
  return [{ style: 'dim', text: new Date(at).toISOString() }, `  ${cells.join('  ')}`];
}

/** What stands behind the line of an event that was forwarded: `-> 204 (3 ms)`, or why there was no answer. */
export function attemptNote(attempt: Attempt): Styled {
  const { status, error, durationMs } = attempt;
  const note = `-> ${status ?? 'no answer'} (${durationMs} ms)`;
  const style = failureOf(attempt) === undefined ? 'green' : 'red';
  return { style, text: error === undefined ? note : `${note}: ${error}` };
}

/** What stands there instead when the event is of a type that this version does not know. */
export const notForwarded = '-> not forwarded: This version of plant-store does not know such an event.';
