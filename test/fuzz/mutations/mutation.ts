import type { ErrorCode } from '../../../src/errors.ts';
import type { Draft } from '../draft.ts';

/** One error in one part of a request, and the codes that may answer it. */
export type Mutation = {
  part: 'body' | 'query' | 'path' | 'head';
  codes: readonly ErrorCode[];
  name: string;
  apply(draft: Draft): Draft;
  /** The expected `WWW-Authenticate`. */
  challenge?: string;
};

export function mutation(
  part: Mutation['part'],
  codes: Mutation['codes'],
  name: string,
  apply: Mutation['apply'],
): Mutation {
  return { part, codes, name, apply };
}
