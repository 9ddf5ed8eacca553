import { hash } from 'node:crypto';
import type { Statement } from './database.ts';

/** A statement from its text. `${}` inserts text; values are `$1`, `$2`, … */
export function statement(
  parts: TemplateStringsArray,
  ...fragments: readonly (string | number | bigint)[]
): Statement {
  return statementOf(String.raw({ raw: parts }, ...fragments));
}

/** The name is derived from the text, so that no other text of any version has it. */
export function statementOf(text: string): Statement {
  return { name: hash('sha256', text, 'base64url').slice(0, 22), text };
}

/** PostgreSQL rejects text with a NUL, so no id contains one: such an id becomes NULL, which equals nothing. */
export function pathId(text: string): string | null {
  return text.includes('\0') ? null : text;
}
