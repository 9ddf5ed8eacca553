import { once } from 'node:events';
import { createServer } from 'node:http';
import { scopes as allScopes, type Scope } from '../../src/access/scopes.ts';
import { createToken } from '../../src/access/tokens.ts';
import { problemOf } from '../../testkit/contract/answers.ts';
import { type Operation, readDocument } from '../../testkit/contract/document.ts';
import { type Service, startService } from '../../testkit/service/service.ts';
import type { Parts } from '../../testkit/stores/beside.ts';
import { makeStoreDatabase } from '../../testkit/stores/postgres.ts';
import { type Client, createClient, Mismatch } from './client.ts';
import { curlOf, type Draft } from './draft.ts';

/** What all lanes share: the service, its document, and its store, opened separately. */
export type Ground = {
  service: Service;
  operations: readonly Operation[];
  /** A receiver that always answers 204. */
  receiver: string;
  store: Parts['store'];
  now(): number;
  newUser(name: string): Promise<void>;
  /** Resolves once the service knows every direct change of users, tokens and shares. */
  settled(): Promise<void>;
  newToken(user: string, scopes?: readonly Scope[], expiresInMs?: number): Promise<string>;
  /** A number that is new in this run, to make users and keys unique. */
  next(): number;
  /** How many answers were checked. */
  checked(): number;
  /**
   * Sends the request and checks the answer against the document and for leaks. `operation` is undefined where the
   * document describes nothing.
   */
  send(client: Client, draft: Draft, operation: Operation | undefined): Promise<Answered>;
  stop(): Promise<void>;
};

export type Answered = Awaited<ReturnType<Client['send']>>;

/** The tokens of a lane's user. `powerless` lacks only the operation's scope. */
export type Tokens = { full: string; other: string; powerless: string; expired: string; revoked: string };

export const fuzzedStores = ['sqlite', 'postgres'] as const;
export type FuzzedStore = (typeof fuzzedStores)[number];

export async function startGround(kind: FuzzedStore): Promise<Ground> {
  const database = kind === 'postgres' ? await makeStoreDatabase() : undefined;
  const service = await startService({
    DATABASE_URL: database?.url ?? '',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    // One address sends thousands of unknown tokens.
    AUTH_FAILURE_LIMIT: '0',
  });
  const { promise: done, resolve: leave } = Promise.withResolvers<void>();
  const { promise: opened, resolve: open } = Promise.withResolvers<Parts>();
  const ended = service.beside(async (parts) => {
    open(parts);
    await done;
  });
  const { store, runtime } = await Promise.race([opened, ended.then(() => Promise.reject())]);
  const access = { store: store.access, runtime };
  const receiver = await startReceiver();
  const operations = readDocument((await service.request('GET', '/openapi.json', { token: null })).text);
  const tester = 'whoever asks what the service knows';
  await store.access.createUser({ name: tester, at: runtime.clock.now() });
  let numbers = 0;

  /** Waits until the service has noticed direct changes; the embedded store does at once. */
  async function settled(): Promise<void> {
    if (kind === 'sqlite') return;
    const made = await createToken(access, { user: tester, label: '', scopes: allScopes });
    if (made === undefined) throw new Error('There is no user to ask as.');
    const status = async () => (await service.request('GET', '/plants', { token: made.token })).status;
    await status();
    await store.access.revokeToken(made.id, runtime.clock.now());
    while ((await status()) !== 401);
  }

  let checked = 0;

  return {
    service,
    operations,
    receiver: receiver.url,
    store,
    now: runtime.clock.now,
    async newUser(name) {
      await store.access.createUser({ name, at: runtime.clock.now() });
    },
    async newToken(user, scopes = allScopes, expiresInMs = undefined) {
      const made = await createToken(access, { user, label: '', scopes, expiresInMs });
      if (made === undefined) throw new Error(`There is no user ${user}.`);
      return made.token;
    },
    settled,
    next: () => ++numbers,
    checked: () => checked,
    async send(client, draft, operation) {
      const answer = await client.send(draft);
      checked++;
      const problem = problemOf(answer, operation, draft.method);
      if (problem !== undefined) throw new Mismatch(problem, curlOf(draft, service.url), answer);
      return answer;
    },
    async stop() {
      leave();
      await ended;
      await service.stop();
      await database?.drop();
      receiver.stop();
    },
  };
}

/** Creates a user for one lane, another beside it, and their tokens. */
export async function newTokens(ground: Ground, scope: Scope | undefined): Promise<Tokens> {
  const [user, other] = [`fuzz ${ground.next()}`, `other ${ground.next()}`];
  await ground.newUser(user);
  await ground.newUser(other);
  const revoked = await ground.newToken(user);
  const { access } = ground.store;
  const newest = (await access.tokens()).findLast((token) => token.user.name === user);
  await access.revokeToken(newest?.id ?? '', ground.now());
  return {
    full: await ground.newToken(user),
    other: await ground.newToken(other),
    powerless: await ground.newToken(
      user,
      allScopes.filter((one) => one !== scope),
    ),
    expired: await ground.newToken(user, allScopes, -1),
    revoked,
  };
}

export const clientOf = (ground: Ground): Client => createClient(ground.service);

async function startReceiver(): Promise<{ url: string; stop(): void }> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
