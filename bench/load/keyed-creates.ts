import { request as send } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOKEN } from '../servers/service.ts';
import type { Answer } from './client.ts';

/** A create that is retried under one Idempotency-Key, and what its clients learned. */
export type KeyedCreate = {
  key: string;
  /** No other plant has it. */
  name: string;
  /** JSON text, the same each time. */
  body: string;
  /** Whether it creates a plant; `taken` asks for an existing id and is refused for good. */
  kind: 'assigned' | 'chosen' | 'taken';
  /** How often it was sent. */
  tries: number;
  /** Complete, final answers. */
  answers: Answer[];
  /** Complete answers that ask for a retry. */
  postponed: number;
};

/** The id of the existing plant that `taken` creates ask for. */
export const TAKEN_ID = 0;

/** The create of this number, from 1. */
export function keyedCreate(number: number): KeyedCreate {
  const name = `Plant ${number}`;
  const kind = number % 8 === 0 ? 'taken' : number % 2 === 0 ? 'chosen' : 'assigned';
  // Negative ids leave the positive ones for assignment.
  const id = { assigned: undefined, chosen: -number, taken: TAKEN_ID }[kind];
  // As a bare token, or as an RFC 8941 string.
  const key = number % 3 === 0 ? `"create ${number}"` : `create-${number}`;
  return { key, name, body: JSON.stringify({ id, name }), kind, tries: 0, answers: [], postponed: 0 };
}

export type Senders = {
  /** Each has one create at a time. */
  clients: number;
  /** Numbers from 0 to 1. */
  random: () => number;
  /** The least number of times a create is sent, even after an answer. */
  tries: number;
};

/** Without a complete answer after this time, something is wrong. */
const DEADLINE_MS = 60_000;
/** One attempt in this many is sent twice at once. */
const TWICE_EVERY = 8;
/** The pause after a `Retry-After`, or when the service is away. */
const PAUSE_MS = 5;

/**
 * Sends every create this often and until one of its answers is complete. Throws for an impossible answer, or without
 * any.
 */
export async function sendUntilAnswered(
  url: string,
  creates: Iterable<KeyedCreate>,
  { clients, random, tries }: Senders,
): Promise<void> {
  const left = Iterator.from(creates);
  const client = async () => {
    for (const create of left) {
      const start = performance.now();
      while (create.tries < tries || create.answers.length === 0) {
        const together = random() * TWICE_EVERY < 1 ? 2 : 1;
        const outcomes = await Promise.all(Array.from({ length: together }, () => tryOnce(url, create)));
        if (!outcomes.includes(true)) await sleep(random() * PAUSE_MS);
        if (performance.now() - start > DEADLINE_MS && create.answers.length === 0) {
          throw new Error(`${create.name} has no whole answer after ${create.tries} tries`);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
}

/** Sends the create once; false without an answer, or without a final one. */
export async function tryOnce(url: string, create: KeyedCreate): Promise<boolean> {
  create.tries++;
  let answer: Answer;
  try {
    answer = await post(url, create);
  } catch {
    // The connection broke, or was silent for too long.
    return false;
  }
  if (isPostponed(answer)) create.postponed++;
  else create.answers.push(answer);
  return !isPostponed(answer);
}

/** The first request with the key is still running, or the service did nothing (and recorded nothing). */
function isPostponed({ status, body }: Answer): boolean {
  return status === 503 || (status === 409 && JSON.parse(body).error === 40901);
}

/** The longest a client waits for the end of a response. */
const PATIENCE_MS = 5_000;

/** Over a separate connection. Rejects when it breaks before the end of the response. */
async function post(url: string, { key, body }: KeyedCreate): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    'content-type': 'application/json',
    'idempotency-key': key,
  };
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const request = send(`${url}/plants`, { method: 'POST', headers, agent: false, signal }, (answer) => {
    text(answer).then((body) => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body });
    }, reject);
  });
  request.on('error', reject);
  request.end(body);
  return promise;
}
