import type { ErrorCode } from '../../../src/errors.ts';
import type { Draft } from '../draft.ts';

/** One thing that is wrong with a request, in one part of it, and the codes that may answer it. */
export type Mutation = {
  part: 'body' | 'query' | 'path' | 'head';
  codes: readonly ErrorCode[];
  name: string;
  apply(draft: Draft): Draft;
  /** What `WWW-Authenticate` says. */
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
