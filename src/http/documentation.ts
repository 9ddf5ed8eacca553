import type { JSONSchema } from 'json-schema-to-ts';
import { catalogue, type ErrorCode, statusOf } from '../errors.ts';
import { feeds } from '../limits.ts';

/** Helpers for what the OpenAPI document says of an operation's answers. */

/** The query of an operation that has none. */
export const NoQuery = { type: 'object', properties: {}, additionalProperties: false } as const;

/** The body of an operation that takes no member: it may be absent. */
export const EmptyInput = {
  $id: 'EmptyInput',
  type: 'object',
  properties: {},
  additionalProperties: false,
  default: {},
  description: 'No body, or an object without members.',
} as const;

/** The answer of an operation that has no body. */
export const NoBody = { type: 'null' } as const;

/** The parameters of a path, each with its description. */
export function pathParameters(descriptions: Record<string, string>) {
  const properties = Object.entries(descriptions).map(([name, description]) => [
    name,
    { type: 'string', description },
  ]);
  return { type: 'object', required: Object.keys(descriptions), properties: Object.fromEntries(properties) };
}

/** The query parameter `limit` of a list that is never given whole. */
export function pageLimit(nouns: string) {
  return {
    type: 'integer',
    minimum: 1,
    maximum: feeds.mostPage,
    description: `an integer from 1 to ${feeds.mostPage}: the most ${nouns} that the answer holds; without it, ${feeds.page}`,
  } as const;
}

/** Stands for a shared schema, which the document then has once. */
export function ref(schema: { readonly $id: string }) {
  return { $ref: schema.$id };
}

const meanings = Object.entries(catalogue).map(([code, meaning]) => `- \`${code}\`: ${meaning}`);

export const ErrorObject = {
  $id: 'Error',
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: {
      type: 'integer',
      description: `HTTP status × 100 + a number. Stable.\n\n${meanings.join('\n')}`,
    },
    message: {
      type: 'string',
      description: 'One sentence for a person: what is wrong, where, and what is right.',
    },
  },
  description: 'The body of every failure.',
  examples: [{ error: 40100, message: 'Send …' }],
} as const;

/** What every operation with a body can answer besides. */
export const BODY_CODES: readonly ErrorCode[] = [40001, 40002, 41300, 41500, 41501];

/** What every operation that takes an Idempotency-Key can answer besides. */
export const KEY_CODES: readonly ErrorCode[] = [40006, 40901, 42200];

/** What every operation with a bearer token can answer. */
const COMMON: readonly ErrorCode[] = [
  40000, 40003, 40005, 40100, 40101, 40102, 40300, 40800, 41400, 41700, 42900, 42901, 43100, 50000, 50100,
  50300, 50302, 50303, 50304, 50500,
];

/** While the service counts requests, on every answer to a token that counts. */
const RATE_LIMIT = {
  RateLimit:
    'While requests are counted: how many the token has left (`r`), and for how many seconds (`t`), such as `"default";r=12;t=7`.',
  'RateLimit-Policy':
    'While requests are counted: how many the token may make (`q`) in how many seconds (`w`), such as `"default";q=600;w=60`.',
};

/** A success with a JSON body, or with none for `NoBody`. */
export function answers(
  schema: Exclude<JSONSchema, boolean>,
  description: string,
  headers: Record<string, string> = {},
) {
  return answer(schema, description, { ...headers, ...RATE_LIMIT });
}

function answer(
  schema: Exclude<JSONSchema, boolean>,
  description: string,
  headers: Record<string, string> = {},
) {
  const documented = Object.entries(headers).map(([name, text]) => [
    name,
    { type: 'string', description: text },
  ]);
  return {
    description,
    ...(documented.length > 0 ? { headers: Object.fromEntries(documented) } : {}),
    ...(schema === NoBody ? NoBody : { content: { 'application/json': { schema } } }),
  };
}

const CHALLENGE = { 'WWW-Authenticate': 'The challenge of RFC 6750.' };
const REQUEST_ID = { 'X-Request-Id': 'To be quoted: the lines in the log about this request carry it.' };
const RETRY_AFTER = { 'Retry-After': 'In how many seconds to try again.' };

/** The header fields that the failures of a status may carry. */
const HEADERS: Readonly<Record<number, Record<string, string>>> = {
  400: CHALLENGE,
  401: CHALLENGE,
  403: CHALLENGE,
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

/** The failures of an operation, by status: its own codes beside those that every operation has. */
export function errorAnswers(...own: ErrorCode[]) {
  const codes = [...new Set([...COMMON, ...own])].sort((a, b) => a - b);
  const byStatus = Map.groupBy(codes, statusOf);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      answer(ref(ErrorObject), group.map((code) => `\`${code}\` ${catalogue[code]}`).join('\n\n'), {
        ...HEADERS[status],
        ...REQUEST_ID,
        ...(status === 401 ? {} : RATE_LIMIT),
      }),
    ]),
  );
}
