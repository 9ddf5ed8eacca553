import { request as send } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './client.ts';
import { TOKEN } from './service.ts';

/** A create that is sent again and again under one Idempotency-Key, and what its clients got to know of it. */
export type KeyedCreate = {
  key: string;
  /** No other plant has it. */
  name: string;
  /** JSON text, the same each time. */
  body: string;
  /** Whether a plant comes of it; `taken` asks for the id of a plant that is there, and is refused for good. */
  kind: 'assigned' | 'chosen' | 'taken';
  /** How often it was sent. */
  tries: number;
  /** Answers that came whole and settle it. */
  answers: Answer[];
  /** Answers that came whole and mean: send it again. */
  postponed: number;
};

/** The id of the plant that stands in the way of creates of the kind `taken`. */
export const TAKEN_ID = 0;

/** The create of this number, which is 1 or more. */
export function keyedCreate(number: number): KeyedCreate {
  const name = `Plant ${number}`;
  const kind = number % 8 === 0 ? 'taken' : number % 2 === 0 ? 'chosen' : 'assigned';
  // Negative ids leave the positive ones to be assigned.
  const id = { assigned: undefined, chosen: -number, taken: TAKEN_ID }[kind];
  // As a bare token, or as a string of RFC 8941.
  const key = number % 3 === 0 ? `"create ${number}"` : `create-${number}`;
  return { key, name, body: JSON.stringify({ id, name }), kind, tries: 0, answers: [], postponed: 0 };
}

export type Senders = {
  /** Each has one create at a time. */
  clients: number;
  /** Numbers from 0 to 1. */
  random: () => number;
  /** A create is sent at least so often, whether it has an answer or not. */
  tries: number;
};

/** Without a whole answer after so long, something is wrong. */
const DEADLINE_MS = 60_000;
/** Of so many tries one is two at once. */
const TWICE_EVERY = 8;
/** After an answer that asks for patience, or a service that is not there. */
const PAUSE_MS = 5;

/**
 * Sends every create until it was sent so often and one of its answers came whole. Throws when an answer is none
 * that a create may have, or none comes.
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

/** Sends the create once; false when there is no answer, or one that settles nothing. */
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

/** The first request with the key is still running, or the service took nothing on (and records nothing). */
function isPostponed({ status, body }: Answer): boolean {
  return status === 503 || (status === 409 && JSON.parse(body).error === 40901);
}

/** A client does not wait longer than this for the end of an answer. */
const PATIENCE_MS = 5_000;

/** Over a connection of its own. Rejects when it breaks before the answer's end. */
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
