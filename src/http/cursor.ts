import { crc32 } from 'node:zlib';
import { AppError } from '../errors.ts';
import { MAX_ID, MIN_ID } from '../plants/plant.ts';
import type { Position } from '../plants/port.ts';

const FORM = /^(\d{1,15})\.(0|-?[1-9]\d{0,18})\.(0|[1-9]\d{0,9})$/;

/**
 * A cursor is a position and a checksum over it, the user and the store. It gives no access (that is part of
 * every query), so the checksum needs no secret: it tells a cursor that was mistyped, cut, made up, or given
 * to another user or by another service.
 */
export function encodeCursor({ owner, id }: Position, user: number, key: number): string {
  const place = `${owner}.${id}`;
  return `${place}.${checksum(place, user, key)}`;
}

/** @throws AppError 40007 */
export function decodeCursor(text: string, user: number, key: number): Position {
  const [, owner, id, sum] = FORM.exec(text) ?? [];
  if (owner && id && sum === String(checksum(`${owner}.${id}`, user, key))) {
    const position = { owner: Number(owner), id: BigInt(id) };
    if (position.id >= MIN_ID && position.id <= MAX_ID) return position;
  }
  throw new AppError(40007, 'The cursor is not one that this service gave to you; start without one.');
}

function checksum(place: string, user: number, key: number): number {
  return crc32(`${key}.${user}.${place}`);
}
