import type { DatabaseSync } from 'node:sqlite';
import type { CursorKeys } from '../../store.ts';
import { prepare } from '../engine/prepare.ts';

export function readCursorKeys(db: DatabaseSync): CursorKeys {
  const keys = prepare(db)`SELECT c.secret, c.old_until, m.value AS old_key
    FROM cursor_key c
    JOIN meta m ON m.name = 'key'`;
  const { secret, old_until: oldUntil, old_key: oldKey } = keys.get() ?? {};
  return { secret: String(secret), oldKey: Number(oldKey), oldUntil: Number(oldUntil) };
}
