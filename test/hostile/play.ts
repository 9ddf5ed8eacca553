import type { Service } from '../../testkit/service/service.ts';
import { openRaw, type RawConnection } from '../../testkit/sockets/raw-client.ts';
import type { RawAnswer } from '../../testkit/sockets/raw-framing.ts';
import { head } from '../../testkit/sockets/raw-request.ts';
import {
  type Case,
  type Expected,
  type Family,
  FIRST,
  type Ground,
  JSON_TYPE,
  POST,
  TARGET,
} from './case.ts';
import { wrongWith } from './check.ts';
import { type Ledger, openLedger } from './ledger.ts';

/** Connections that run cases of a family concurrently. */
const CONNECTIONS = 8;

/** Runs all cases of a family; returns a line for each problem. */
export async function playFamily(service: Service, family: Family): Promise<string[]> {
  const ground = await makeGround(service, family);
  const ledger = await openLedger(service, ground.token);
  const failed = new Map<string, string>();
  const left = [...family.cases].reverse();

  async function playConnection(): Promise<void> {
    let connection: RawConnection | undefined;
    for (let played = left.pop(); played !== undefined; played = left.pop()) {
      connection ??= await openRaw(service.port);
      try {
        if (await playCase(connection, ground, played, ledger)) continue;
      } catch (error) {
        failed.set(played.name, error instanceof Error ? error.message : String(error));
      }
      connection.close();
      connection = undefined;
    }
    connection?.close();
  }
  await Promise.all(Array.from({ length: family.inOrder ? 1 : CONNECTIONS }, playConnection));
  const problems = [...failed].map(([name, problem]) => `${name}: ${problem}`);
  return [...problems, ...(await ledger.compare(service, ground.token, failed))];
}

/** Sets up what every ground has. */
const GIVEN = [FIRST, '0', TARGET].map((id) => ({ id, name: 'Given', tag: 'before all cases' }));

async function makeGround(service: Service, { name, prepare }: Family): Promise<Ground> {
  const user = `hostile to ${name}`;
  const token = await service.tokenFor(user);
  for (const { id, name, tag } of GIVEN) {
    const body = `{"id": ${id}, "name": "${name}", "tag": "${tag}"}`;
    const { status, text } = await service.request('POST', '/plants', { token, body });
    if (status !== 201) throw new Error(text);
  }
  const fields = ['Host: localhost', `Authorization: Bearer ${token}`];
  const words = { user, token, fields: fields.join('\r\n') };
  const ground: Ground = { port: service.port, user, token, fields, words };
  return prepare ? { ...ground, words: { ...words, ...(await prepare(service, ground)) } } : ground;
}

/** Returns whether the connection may be used again. Throws for a wrong answer. */
async function playCase(connection: RawConnection, ground: Ground, played: Case, ledger: Ledger) {
  const { bytes, arrives, answers, leaves, rest } = played;
  const follower = ledger.follower(played.name);
  const sent = Buffer.from(bytes(ground) as string, 'latin1');
  if (arrives === undefined) {
    const follows = rest === undefined ? creation(ground, follower) : Buffer.alloc(0);
    // Not awaited: a refused upload may be answered before it was read.
    void connection.send(Buffer.concat([sent, follows]));
  } else if (arrives === 'byte by byte') {
    await drip(connection, sent);
    await connection.send(creation(ground, follower));
  } else {
    await connection.send(sent);
    connection.end();
  }

  for (const [index, expected] of answers.entries()) {
    const answer = await finalAnswer(connection, expected);
    ledger.enter(answer, expected);
    const problem = wrongWith(answer, expected, ground);
    const which = answers.length === 1 ? '' : `answer ${index + 1}: `;
    if (problem !== undefined)
      throw new Error(`${which}${problem}; ${answer.status} ${excerpt(answer.text)}`);
  }
  if (rest !== undefined) await connection.send(rest);
  if (leaves === 'closed') {
    await connection.ended();
    return false;
  }
  const next = await nextAnswer(connection, leaves === 'either');
  if (next === undefined) return false;
  const isIts = next.status === 201 && next.headers.get('location') === `/plants/${follower.id}`;
  if (!isIts) throw new Error(`what follows is answered ${next.status} ${excerpt(next.text)}`);
  ledger.enter(next, { plant: follower });
  return next.headers.get('connection') !== 'close';
}

/**
 * The request that follows a case on its connection. Its answer shows whether another request was answered in its
 * place, or ran without an answer.
 */
function creation({ fields }: Ground, { id, name }: ReturnType<Ledger['follower']>): Buffer {
  const body = `{"id":${id},"name":"${name}"}`;
  return Buffer.from(head(POST, ...fields, JSON_TYPE, `Content-Length: ${body.length}`) + body);
}

async function drip(connection: RawConnection, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; at++) {
    await connection.send(bytes.subarray(at, at + 1));
    await new Promise(setImmediate);
  }
}

async function finalAnswer(connection: RawConnection, { head: bodiless = false, continues }: Expected) {
  for (let interim = 0; ; interim++) {
    const answer = await connection.answer({ bodiless });
    if (answer.status >= 200) return answer;
    if (answer.status !== 100 || continues === 'never' || interim > 0)
      throw new Error(`an answer ${answer.status}, which nobody asked for`);
  }
}

/** Undefined when the connection ends instead, if it may. */
async function nextAnswer(connection: RawConnection, mayEnd: boolean): Promise<RawAnswer | undefined> {
  try {
    return await connection.answer();
  } catch (error) {
    if (!mayEnd) throw error;
    await connection.ended();
    return undefined;
  }
}

const excerpt = (text: string): string => JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}…` : text);
