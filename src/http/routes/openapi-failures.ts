import { catalogue, type ErrorCode, statusOf } from '../../errors.ts';
import { nodeHttp } from '../node-http.ts';
import { COMMON_FAILURES, failuresOf, type Operation } from './operation.ts';

/** The failures in the OpenAPI document: each response once, under a name that operations refer to. */

const meanings = Object.entries(catalogue).map(([code, meaning]) => `- \`${code}\`: ${meaning}`);

const ErrorObject = {
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
      description: 'One sentence for a person: what is wrong, where, and what would be right.',
    },
  },
  description: 'The body of every failure.',
  examples: [{ error: 40100, message: 'Send …' }],
} as const;

/** The header fields that responses of several operations may carry. */
const HEADERS: Readonly<Record<string, string>> = {
  RateLimit:
    'With a rate limit: the requests the token has left (`r`) and for how many seconds (`t`), such as `"default";r=12;t=7`.',
  'RateLimit-Policy':
    'With a rate limit: the requests the token may make (`q`) in how many seconds (`w`), such as `"default";q=600;w=60`.',
  'WWW-Authenticate': 'The challenge of RFC 6750.',
  'Retry-After': 'In how many seconds to try again.',
  'Idempotent-Replayed':
    '`true`: the answer that was recorded for this `Idempotency-Key`. Recorded failures have it, too.',
  'X-Request-Id': 'Quote it in reports: the log lines about this request contain it.',
};

/** With a rate limit, on every response to a valid token. */
export const RATE_LIMIT = ['RateLimit', 'RateLimit-Policy'];

/** On every answer to a key that was used before. */
export const REPLAYED = 'Idempotent-Replayed';

/** Answered to requests whose token is not looked at, or not valid. */
const UNCOUNTED = [401, 414, 417, 431, 501, 505];
const CHALLENGED = [400, 401, 403];
const TO_BE_RETRIED = [429, 503];

export const sharedHeaders = describeHeaders(HEADERS);

/** Header fields by name, each with its description. */
export function describeHeaders(fields: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(fields).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  );
}

export function referToHeaders(names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The failures of an operation by status, as references. */
export function referToFailures(operation: Operation) {
  return Object.fromEntries(
    answersOf(operation).map(({ status, name }) => [status, { $ref: `#/components/responses/${name}` }]),
  );
}

/** Everything that the operations refer to, by name. */
export function sharedFailures(operations: readonly Operation[]) {
  const answers = operations.flatMap(answersOf).sort((a, b) => a.status - b.status);
  return Object.fromEntries(answers.map(({ status, name, codes }) => [name, describe(status, codes)]));
}

/** The name contains the status and the codes that only some operations have: `NotFound_40402`. */
function answersOf(operation: Operation) {
  const byStatus = Map.groupBy(failuresOf(operation), statusOf);
  return [...byStatus].map(([status, codes]) => {
    const phrase = nodeHttp.STATUS_CODES[status]?.replaceAll(/\W/g, '');
    const special = codes.filter((code) => !COMMON_FAILURES.includes(code));
    return { status, codes, name: [phrase, ...special].join('_') };
  });
}

function describe(status: number, codes: readonly ErrorCode[]) {
  return {
    description: codes.map((code) => `\`${code}\` ${catalogue[code]}`).join('\n\n'),
    headers: referToHeaders([
      ...(CHALLENGED.includes(status) ? ['WWW-Authenticate'] : []),
      ...(TO_BE_RETRIED.includes(status) ? ['Retry-After'] : []),
      'X-Request-Id',
      ...(UNCOUNTED.includes(status) ? [] : RATE_LIMIT),
    ]),
    content: { 'application/json': { schema: ErrorObject } },
  };
}
