import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { Scope } from '../../access/scopes.ts';
import type { ErrorCode } from '../../errors.ts';
import { feeds } from '../../limits.ts';
import type { Id, PlantId } from '../../plants/plant.ts';

/** A JSON Schema as plain data. With an `$id`, it appears in the OpenAPI document once, under this name. */
export type Schema = { readonly [keyword: string]: unknown };

/** An operation of the API as plain data, from which its route and its part of the OpenAPI document are generated. */
export type Operation = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** In the router's syntax, such as `/plants/:id`. */
  url: string;
  /** The scope that the token needs; undefined if any valid token will do. */
  scope: Scope | undefined;
  summary: string;
  description: string;
  /** The path parameters and header fields, by name. They are only documented here. */
  path?: Readonly<Record<string, Schema>>;
  headers?: Readonly<Record<string, Schema>>;
  /** The query parameters, by name. */
  query?: Readonly<Record<string, Schema>>;
  /** With a `default`, the body may be absent. */
  body?: Schema;
  success: Success;
  /** The codes that `failuresOf` does not add. */
  failures?: readonly ErrorCode[];
};

/** The value of a body with this schema. An int64 is read as a bigint. */
export type ValueOf<Body extends JSONSchema> = FromSchema<
  Body,
  { deserialize: [{ pattern: Pick<typeof Id, 'format'>; output: PlantId }] }
>;

/** The values of query parameters with these schemas. */
export type ValuesOf<Query extends Readonly<Record<string, JSONSchema>>> = ValueOf<{
  type: 'object';
  properties: Query;
  additionalProperties: false;
}>;

/** By their `operationId`. */
export type Operations = Readonly<Record<string, Operation>>;

export type Success = {
  status: number;
  description: string;
  /** Absent when the response has no body. */
  schema?: Schema;
  /** `application/json` by default. */
  type?: string;
  /** The additional header fields of this response, each with its description. */
  headers?: Readonly<Record<string, string>>;
};

/** The failures of every operation. */
export const COMMON_FAILURES: readonly ErrorCode[] = [
  40000, 40003, 40005, 40100, 40101, 40102, 40300, 40800, 41400, 41700, 42900, 42901, 43100, 50000, 50100,
  // 50301 for a GET, too: a JWT may be the first of its user, who is then created.
  50300, 50301, 50302, 50303, 50304, 50500,
];
const BODY_FAILURES: readonly ErrorCode[] = [40001, 40002, 41300, 41500, 41501];
/** Every POST accepts an Idempotency-Key. */
const KEY_FAILURES: readonly ErrorCode[] = [40006, 40901, 42200];

/** All failure codes of an operation, in ascending order. */
export function failuresOf({ method, body, failures = [] }: Operation): ErrorCode[] {
  const codes = [
    ...COMMON_FAILURES,
    ...failures,
    ...(body ? BODY_FAILURES : []),
    ...(method === 'POST' ? KEY_FAILURES : []),
  ];
  return [...new Set(codes)].sort((a, b) => a - b);
}

/** The body of an operation without members. It may be absent. */
export const EmptyInput = {
  $id: 'EmptyInput',
  type: 'object',
  properties: {},
  additionalProperties: false,
  default: {},
  description: 'No body, or an object without members.',
} as const;

/** A path parameter whose text the service has issued. */
export function pathText(description: string) {
  return { type: 'string', description } as const;
}

/** The header of an operation that answers 304 when the client has the same already. */
export const IF_NONE_MATCH = {
  'If-None-Match': {
    type: 'string',
    description: 'the `ETag` of an earlier answer: if nothing has changed, the answer is 304, without a body',
  },
} as const;

/** The query parameter `cursor` of a list that links to its next page. */
export const PAGE_CURSOR = {
  type: 'string',
  description: 'a cursor from the Link header of an earlier answer: the list continues there',
} as const;

/** The query parameter `limit` of a list that is always paged. */
export function pageLimit(nouns: string) {
  return {
    type: 'integer',
    minimum: 1,
    maximum: feeds.mostPage,
    description: `an integer from 1 to ${feeds.mostPage}: the most ${nouns} to return; without it, ${feeds.page}`,
  } as const;
}
