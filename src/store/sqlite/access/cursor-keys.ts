import type { DatabaseSync } from 'node:sqlite';
import { toCursorKeys } from '../../rows.ts';
import type { CursorKeys } from '../../store.ts';
import { prepare } from '../engine/prepare.ts';

export function readCursorKeys(db: DatabaseSync): CursorKeys {
  const keys = prepare(db)`SELECT c.secret, m.value AS store_key
    FROM cursor_key c
    JOIN meta m ON m.name = 'key'`;
  return toCursorKeys(keys.get() ?? {});
}
