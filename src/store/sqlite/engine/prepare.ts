import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Returns a tag that prepares a statement. `${}` inserts text; values are `?`. */
export function prepare(db: DatabaseSync) {
  return (parts: TemplateStringsArray, ...fragments: readonly (string | number)[]): StatementSync =>
    db.prepare(String.raw({ raw: parts }, ...fragments));
}
