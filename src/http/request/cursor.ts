import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../errors.ts';
import type { ListOrder, Position } from '../../plants/port.ts';

/** The list and the user that a cursor was issued for. */
type CursorOrigin = { list: string; user: number };

export type Cursors = ReturnType<typeof createCursors>;

/**
 * A cursor is a position in a list, sealed with the list, the user and the store's key. It grants no access, since every
 * query checks access itself. But a client that could forge one would learn from the answers which users exist.
 * @param secret of the store, in hexadecimal
 */
export function createCursors({ secret }: { secret: string }) {
  const key = Buffer.from(secret, 'hex');
  const macOf = (position: string, { list, user }: CursorOrigin): string =>
    createHmac('sha256', key).update(`${user} ${position} ${list}`).digest('base64url').slice(0, KEPT);

  return {
    seal: (position: string, origin: CursorOrigin): string => `${position}.${macOf(position, origin)}`,
    /**
     * The position of a cursor.
     * @throws AppError 40007
     */
    open(cursor: string, origin: CursorOrigin): string {
      const end = cursor.lastIndexOf('.');
      const position = cursor.slice(0, Math.max(0, end));
      const isSealed = POSITION.test(position) && areEqual(cursor.slice(end + 1), macOf(position, origin));
      if (!isSealed) throw noCursor();
      return position;
    },
  };
}

/** A cursor for the list of plants in this order. */
export function sealPosition(
  cursors: Cursors,
  { owner, id, name }: Position,
  user: number,
  order: ListOrder,
): string {
  const rest = name === undefined ? '' : `.${Buffer.from(name).toString('base64url')}`;
  return cursors.seal(`${owner}.${id}${rest}`, { list: listOf(order), user });
}

/** @throws AppError 40007 */
export function openPosition(cursors: Cursors, cursor: string, user: number, order: ListOrder): Position {
  const text = cursors.open(cursor, { list: listOf(order), user });
  const [, owner, id, coded] = PLANTS_POSITION.exec(text) ?? [];
  // It is sealed, so only another version of the service can have given it another form.
  if (!owner || !id) throw noCursor();
  const position = { owner: Number(owner), id: BigInt(id) };
  return coded === undefined ? position : { ...position, name: Buffer.from(coded, 'base64url').toString() };
}

/** The URL limits its length. */
const POSITION = /^[\w.-]+$/;
/** Owner, id and, in a list by name, the folded name. */
const PLANTS_POSITION = /^(\d{1,15})\.(0|-?[1-9]\d{0,18})(?:\.([\w-]*))?$/;

/** Each order, and each prefix, is a list of its own. */
function listOf(order: ListOrder): string {
  if (typeof order === 'object') return `plants by name ${order.prefix}`;
  return order === 'id' ? 'plants' : 'plants descending';
}

/** How many characters of a MAC are kept: 132 bits (RFC 2104 §5). */
const KEPT = 22;

function areEqual(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

export function noCursor(): AppError {
  return new AppError(
    40007,
    'This service did not issue the cursor to you for this list; start without one.',
  );
}
