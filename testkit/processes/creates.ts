import assert from 'node:assert/strict';
import { type Answer, succeeded } from '../service/answer.ts';
import type { Server } from './server.ts';

/** A create from its client's view. */
export type Sent = {
  /** Unique. */
  name: string;
  /** Chosen by the client, or assigned by the service and returned. */
  id: number | undefined;
  /** 201, the code of the Error object, or `lost` when the connection broke before the answer. */
  outcome: number | 'lost';
};

const CONNECTIONS = 16;

/**
 * Creates plants over 16 connections, half of them with an id, and records each in `sent`. Each connection continues
 * until a create fails; resolves when all have ended.
 */
export async function createUntilFailed(
  server: Server,
  sent: Sent[],
  onCreated: () => void = () => {},
): Promise<void> {
  async function client(): Promise<void> {
    for (;;) {
      if ((await send(server, enter(sent))) !== 201) return;
      onCreated();
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
}

/** Retries unknown outcomes like a client: the same plant with the same id. */
export async function retryLost(server: Server, sent: Sent[]): Promise<void> {
  for (const create of sent) {
    // Without an id a retry would create another plant.
    if (create.outcome !== 'lost' || create.id === undefined) continue;
    const outcome = await send(server, create);
    assert.ok(outcome === 201 || outcome === 40900, `${create.name}: ${outcome}`);
    create.outcome = 201;
  }
}

/**
 * Checks admin's list against what the clients know: each acknowledged plant once, with its id; one of unknown outcome
 * at most once; a refused or unsent one not at all.
 */
export async function checkListed(server: Server, sent: readonly Sent[]): Promise<void> {
  const answer = await server.request('GET', '/plants?fields=id,name');
  // The answer has the requested members.
  const listed = succeeded(answer, 200) as { id: number; name: string }[];
  const byName = Map.groupBy(listed, ({ name }) => name);
  for (const { name, id, outcome } of sent) {
    const ids = byName.get(name)?.map((plant) => plant.id) ?? [];
    if (outcome === 201) assert.deepEqual(ids, [id], name);
    else if (outcome === 'lost' || outcome === 50301) assert.ok(ids.length <= 1, `${name}: ${ids}`);
    else assert.deepEqual(ids, [], `${name}: ${outcome}`);
    byName.delete(name);
  }
  assert.deepEqual([...byName.keys()], [], 'plants that nobody sent');
}

/** Chosen ids are negative, to avoid those that the service assigns. */
function enter(sent: Sent[]): Sent {
  const number = sent.length + 1;
  const id = number % 2 === 0 ? -number : undefined;
  const create: Sent = { name: `Plant ${number}`, id, outcome: 'lost' };
  sent.push(create);
  return create;
}

/** Sends the create; records and returns its outcome. */
async function send(server: Server, create: Sent): Promise<Sent['outcome']> {
  const answer = await createPlant(server, create);
  if (answer === undefined) return 'lost';
  if (answer.status === 201) create.id = Number(answer.headers.get('location')?.split('/').at(-1));
  create.outcome = answer.status === 201 ? 201 : Number(JSON.parse(answer.text).error);
  return create.outcome;
}

/** Undefined when the connection broke before the answer. */
async function createPlant(server: Server, { id, name }: Sent): Promise<Answer | undefined> {
  try {
    return await server.request('POST', '/plants', { body: { id, name } });
  } catch {
    return undefined;
  }
}
