import { type TSchema, Type } from 'typebox';
import { catalogue, type ErrorCode, statusOf } from '../errors.ts';

/** Helpers for what the OpenAPI document says of an operation's answers. */

/** The query of an operation that has none. */
export const NoQuery = Type.Object({}, { additionalProperties: false });

const meanings = Object.entries(catalogue).map(([code, meaning]) => `- \`${code}\`: ${meaning}`);

export const ErrorObject = Type.Object(
  {
    error: Type.Integer({ description: `HTTP status × 100 + a number. Stable.\n\n${meanings.join('\n')}` }),
    message: Type.String({
      description: 'One sentence for a person: what is wrong, where, and what is right.',
    }),
  },
  {
    $id: 'Error',
    description: 'The body of every failure.',
    examples: [{ error: 40100, message: 'Send …' }],
  },
);

/** What every operation with a bearer token can answer. */
const COMMON: readonly ErrorCode[] = [
  40000, 40003, 40005, 40100, 40101, 40102, 40300, 40800, 41400, 41700, 43100, 50000, 50100, 50300, 50302,
  50303, 50500,
];

/** A success with a JSON body, or with none for `Type.Null()`. */
export function answers(schema: TSchema, description: string, headers: Record<string, string> = {}) {
  const documented = Object.entries(headers).map(([name, text]) => [
    name,
    { type: 'string', description: text },
  ]);
  const hasBody = !('type' in schema && schema.type === 'null');
  return {
    description,
    ...(documented.length > 0 ? { headers: Object.fromEntries(documented) } : {}),
    ...(hasBody ? { content: { 'application/json': { schema } } } : { type: 'null' }),
  };
}

/** The failures of an operation, by status: its own codes beside those that every operation has. */
export function errorAnswers(...own: ErrorCode[]) {
  const codes = [...new Set([...COMMON, ...own])].sort((a, b) => a - b);
  const byStatus = Map.groupBy(codes, statusOf);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      answers(
        Type.Ref('Error'),
        group.map((code) => `\`${code}\` ${catalogue[code]}`).join('\n\n'),
        status === 401 || status === 403 ? { 'WWW-Authenticate': 'The challenge of RFC 6750.' } : {},
      ),
    ]),
  );
}
