import type { Operation } from '../../testkit/contract/document.ts';
import { eventually } from '../../testkit/service/eventually.ts';
import type { Client } from './client.ts';
import { draftOf, withJson } from './draft.ts';
import { type Answered, clientOf, type Ground, newTokens, type Tokens } from './ground.ts';

/** The data that a lane of requests starts with: a user with some of everything, and another with the same. */
export type Fixtures = {
  operation: Operation;
  tokens: Tokens;
  client: Client;
  /** Ids of the user's plants; creates and deletes keep it current. */
  plants: Set<string>;
  /** The first is disabled and has a delivery for each plant, the second is enabled, the third has no deliveries. */
  webhooks: readonly string[];
  /** The ids of the user's live tokens, oldest first. */
  tokenIds: readonly string[];
  /** Events of all plants, oldest first. */
  events: readonly string[];
  cursors: Cursors;
  /** Cursors that are valid, but for another list or user. */
  badCursors: readonly string[];
  /** Ids of the other user's webhooks and tokens. */
  foreign: readonly string[];
};

/**
 * Each points to the second page with `limit=2`. Plants are by id, deliveries those of the first webhook, and both kinds
 * without a filter.
 */
export type Cursors = { plants: string; deliveries: string; allDeliveries: string; events: string };

export const PLANTS = [
  '-9223372036854775808',
  '-5',
  '0',
  '7',
  '8',
  '9007199254740993',
  '9223372036854775807',
];

export async function makeFixtures(ground: Ground, operation: Operation): Promise<Fixtures> {
  const tokens = await newTokens(ground, operation.scope);
  const client = clientOf(ground);
  const own = await furnish(ground, client, tokens.full);
  const other = await furnish(ground, client, tokens.other);
  const elsewhere = Object.values(other.cursors);
  const further = Object.entries(own.cursors).filter(([list]) => list !== listOf(operation));
  return {
    operation,
    tokens,
    client,
    plants: new Set(PLANTS),
    ...own,
    badCursors: [...elsewhere, ...further.map(([, cursor]) => cursor)],
    foreign: operation.path.startsWith('/tokens') ? other.tokenIds : other.webhooks,
  };
}

/** The list to which an operation's cursors belong. */
export function listOf({ path }: Operation): keyof Cursors {
  if (path === '/deliveries') return 'allDeliveries';
  if (path.endsWith('/deliveries')) return 'deliveries';
  return path.startsWith('/events') ? 'events' : 'plants';
}

async function furnish(ground: Ground, client: Client, token: string) {
  const ask = async (method: string, path: string, body?: unknown): Promise<Answered> => {
    const [pure = '', query = ''] = path.split('?');
    const draft = { ...draftOf(method, pure, token), query };
    const answer = await ground.send(client, body === undefined ? draft : withJson(draft, body), undefined);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer;
  };
  const webhook = async (): Promise<string> =>
    JSON.parse((await ask('POST', '/webhooks', { url: ground.receiver })).text).id;

  const [held, open] = [await webhook(), await webhook()];
  await ask('PATCH', `/webhooks/${held}`, { enabled: false });
  for (const id of PLANTS) await ask('POST', '/plants', `{"name":"Plant ${id}","id":${id},"tag":"t"}`);
  const last = await webhook();
  // On PostgreSQL an event waits for all transactions that began before it.
  const feed = await eventually('event of each plant', async () => {
    const { events } = JSON.parse((await ask('GET', '/events')).text);
    return events.length === PLANTS.length ? events : undefined;
  });
  const firstTwo = JSON.parse((await ask('GET', '/events?limit=2')).text);
  const tokens: { id: string }[] = JSON.parse((await ask('GET', '/tokens')).text);
  return {
    webhooks: [held, open, last],
    tokenIds: tokens.map(({ id }) => id),
    events: feed.map(({ id }: { id: string }) => id),
    cursors: {
      plants: cursorIn(await ask('GET', '/plants?limit=2')),
      deliveries: cursorIn(await ask('GET', `/webhooks/${held}/deliveries?limit=2`)),
      allDeliveries: cursorIn(await ask('GET', '/deliveries?limit=2')),
      events: String(firstTwo.cursor),
    },
  };
}

export function cursorIn({ headers }: Answered): string {
  return /[?&]cursor=([^&>]+)/.exec(headers.get('link') ?? '')?.[1] ?? '';
}
