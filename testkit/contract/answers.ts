import { catalogue, type ErrorCode } from '../../src/errors.ts';
import type { RawAnswer } from '../sockets/raw-framing.ts';
import type { Operation } from './document.ts';

/** What is wrong with an answer, whatever the request; undefined when nothing is. */
export function problemOf(
  answer: RawAnswer,
  operation: Operation | undefined,
  method: string,
): string | undefined {
  const { status, headers, text } = answer;
  if (status >= 400 && method !== 'HEAD') {
    const problem = errorProblem(answer);
    if (problem !== undefined) return problem;
  }
  for (const name of ALWAYS[status] ?? []) if (!headers.has(name)) return `${status} without ${name}`;
  if (!operation) return undefined;

  const described = operation.responses[status];
  if (!described) return `the document of ${operation.id} has no ${status}`;
  for (const name of TELLING) {
    if (headers.has(name) && !described.headers.includes(name))
      return `the document does not describe ${name}`;
  }
  if (described.headers.includes('location') && !headers.has('location')) return 'Location is missing';
  if (described.type === undefined) return text === '' ? undefined : 'a body where none is allowed';
  if (method === 'HEAD') return text === '' ? undefined : 'HEAD has a body';
  if (!isOfType(headers.get('content-type'), described.type)) return `not of the type ${described.type}`;
  if (described.type !== 'application/json' || described.isValid?.(JSON.parse(text))) return undefined;
  return `the body is not as the document says: ${JSON.stringify(described.isValid?.errors)}`;
}

/** The code of a failure; undefined otherwise. */
export function codeOf({ status, text }: RawAnswer): ErrorCode | undefined {
  return status < 400 || text === '' ? undefined : JSON.parse(text).error;
}

const TELLING = ['etag', 'location', 'link', 'www-authenticate', 'retry-after'];

/** The header fields that a failure of this status has in every operation. */
const ALWAYS: Readonly<Record<number, readonly string[]>> = {
  401: ['www-authenticate'],
  403: ['www-authenticate'],
  405: ['allow'],
  429: ['retry-after'],
  503: ['retry-after'],
};

function errorProblem({ status, headers, text }: RawAnswer): string | undefined {
  if (!isOfType(headers.get('content-type'), 'application/json')) return 'a failure that is not JSON';
  const body: unknown = JSON.parse(text);
  if (typeof body !== 'object' || body === null) return 'a failure that is no object';
  if (Object.keys(body).join() !== 'error,message') return 'a failure with other members';
  const { error, message }: { error?: unknown; message?: unknown } = body;
  if (typeof error !== 'number' || !(error in catalogue)) return 'a code that is not in the catalogue';
  if (Math.floor(error / 100) !== status) return 'the code is not of this status';
  if (typeof message !== 'string' || !SENTENCE.test(message)) return 'the message is no sentence';
  if (LEAK.test(message)) return 'the message tells what only the service should know';
  if (error === 50000) return 'a fault';
  return undefined;
}

const SENTENCE = /^["A-Z].{5,1500}\.$/su;
const LEAK = /\bat .*\.[jt]s\b|node:|SQLITE|SELECT |INSERT |FST_|HPE_|ERR_|pst_[0-9A-Za-z]{38}|whsec_/;

function isOfType(header: string | null, type: string): boolean {
  return header === type || header === `${type}; charset=utf-8`;
}
