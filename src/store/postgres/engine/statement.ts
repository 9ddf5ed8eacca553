import { hash } from 'node:crypto';
import type { Statement } from './database.ts';

/** A statement as it is written down. What stands in `${}` is a part of its text; values are `$1`, `$2`, … */
export function statement(
  parts: TemplateStringsArray,
  ...fragments: readonly (string | number | bigint)[]
): Statement {
  return statementOf(String.raw({ raw: parts }, ...fragments));
}

/** Its name follows from its text, so that no other text of any version has it. */
export function statementOf(text: string): Statement {
  return { name: hash('sha256', text, 'base64url').slice(0, 22), text };
}
