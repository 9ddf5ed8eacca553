import { crc32 } from 'node:zlib';
import { AppError } from '../errors.ts';
import { MAX_ID, MIN_ID } from '../plants/plant.ts';
import type { Position } from '../plants/port.ts';

/** What a cursor belongs to: the list that goes on with it, the user that it was given to, and the store. */
export type CursorOrigin = { list: string; user: number; key: number };

/**
 * A cursor is a place in a list and a checksum over it, the list, the user and the store. It gives no access (that
 * is part of every query), so the checksum needs no secret: it tells a cursor that was mistyped, cut, made up, or
 * given by another list, to another user, or by another service.
 */
export function sealCursor(place: string, origin: CursorOrigin): string {
  return `${place}.${checksum(place, origin)}`;
}

/**
 * The place of a cursor.
 *
 * @throws AppError 40007
 */
export function openCursor(text: string, origin: CursorOrigin): string {
  const end = text.lastIndexOf('.');
  const place = text.slice(0, Math.max(0, end));
  if (PLACE.test(place) && text.slice(end + 1) === String(checksum(place, origin))) return place;
  throw noCursor();
}

/** A cursor of the list of plants. */
export function encodeCursor({ owner, id }: Position, user: number, key: number): string {
  return sealCursor(`${owner}.${id}`, { list: PLANTS, user, key });
}

/** @throws AppError 40007 */
export function decodeCursor(text: string, user: number, key: number): Position {
  const place = openCursor(text, { list: PLANTS, user, key });
  const [, owner, id] = PLANTS_PLACE.exec(place) ?? [];
  if (owner && id) {
    const position = { owner: Number(owner), id: BigInt(id) };
    if (position.id >= MIN_ID && position.id <= MAX_ID) return position;
  }
  throw noCursor();
}

const PLACE = /^[\w.-]{1,64}$/;
const PLANTS = 'plants';
const PLANTS_PLACE = /^(\d{1,15})\.(0|-?[1-9]\d{0,18})$/;

function checksum(place: string, { list, user, key }: CursorOrigin): number {
  return crc32(`${list} ${key}.${user}.${place}`);
}

function noCursor(): AppError {
  return new AppError(
    40007,
    'The cursor is not one that this service gave to you for this list; start without one.',
  );
}
