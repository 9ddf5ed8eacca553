import type { Scope } from '../../access/scopes.ts';
import type { ErrorCode } from '../../errors.ts';
import { feeds } from '../../limits.ts';

/** A JSON Schema as plain data. One with an `$id` is in the OpenAPI document once, by this name. */
export type Schema = { readonly [keyword: string]: unknown };

/** An operation of the API as plain data: its route and its part of the OpenAPI document are made from this. */
export type Operation = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** As the router reads it, such as `/plants/:id`. */
  url: string;
  tag: 'Plants' | 'Webhooks' | 'Deliveries' | 'Events' | 'Tokens';
  /** The scope that the token needs; undefined when any token will do. */
  scope: Scope | undefined;
  summary: string;
  description: string;
  /** The parameters in the path and the header fields, by name. Both are only documented here. */
  path?: Readonly<Record<string, Schema>>;
  headers?: Readonly<Record<string, Schema>>;
  /** An object whose properties are the parameters of the query. Without it the operation has none. */
  query?: Schema;
  /** With a `default`, the body may be absent. */
  body?: Schema;
  success: Success;
  /** The codes that `failuresOf` does not add by itself. */
  failures?: readonly ErrorCode[];
};

/** By their `operationId`. */
export type Operations = Readonly<Record<string, Operation>>;

export type Success = {
  status: number;
  description: string;
  /** Absent when the answer has no body. */
  schema?: Schema;
  /** `application/json` unless it says otherwise. */
  type?: string;
  /** The header fields of this answer beside the usual ones, each with its description. */
  headers?: Readonly<Record<string, string>>;
};

/** What every operation can answer. */
export const COMMON_FAILURES: readonly ErrorCode[] = [
  40000, 40003, 40005, 40100, 40101, 40102, 40300, 40800, 41400, 41700, 42900, 42901, 43100, 50000, 50100,
  50300, 50302, 50303, 50304, 50500,
];
const BODY_FAILURES: readonly ErrorCode[] = [40001, 40002, 41300, 41500, 41501];
/** Every POST takes an Idempotency-Key. */
const KEY_FAILURES: readonly ErrorCode[] = [40006, 40901, 42200];
const WRITE_FAILURES: readonly ErrorCode[] = [50301];

/** The codes of all failures of an operation, in ascending order. */
export function failuresOf({ method, body, failures = [] }: Operation): ErrorCode[] {
  const codes = [
    ...COMMON_FAILURES,
    ...failures,
    ...(body ? BODY_FAILURES : []),
    ...(method === 'POST' ? KEY_FAILURES : []),
    ...(method === 'GET' ? [] : WRITE_FAILURES),
  ];
  return [...new Set(codes)].sort((a, b) => a - b);
}

/** The body of an operation that takes no member: it may be absent. */
export const EmptyInput = {
  $id: 'EmptyInput',
  type: 'object',
  properties: {},
  additionalProperties: false,
  default: {},
  description: 'No body, or an object without members.',
} as const;

/** A part of a path that is a text of ours. */
export function pathText(description: string) {
  return { type: 'string', description } as const;
}

/** The query parameter `cursor` of a list whose next page is a link. */
export const PAGE_CURSOR = {
  type: 'string',
  description: 'a cursor out of the Link header of an earlier answer: the list goes on from there',
} as const;

/** The query parameter `limit` of a list that is never given whole. */
export function pageLimit(nouns: string) {
  return {
    type: 'integer',
    minimum: 1,
    maximum: feeds.mostPage,
    description: `an integer from 1 to ${feeds.mostPage}: the most ${nouns} that the answer holds; without it, ${feeds.page}`,
  } as const;
}
