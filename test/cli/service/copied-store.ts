import assert from 'node:assert/strict';
import { storePath } from '../../../src/config/config.ts';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import type { Once } from '../../../src/idempotency/port.ts';
import { plantFields } from '../../../src/plants/port.ts';
import { silentLog } from '../../../src/runtime.ts';
import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Webhook } from '../../../src/webhooks/port.ts';
import { attemptsOf, deliveriesTo } from '../../../testkit/stores/deliveries.ts';
import { AT, type Given, given, outcomeOf } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';

const clock = { now: () => AT };

export function openEmbedded(folder: string): Promise<Store> {
  return openSqliteStore({
    path: storePath(folder),
    writer: 'thread',
    clock,
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
}

export function openDatabaseStore(url: string): Promise<PostgresStore> {
  return openPostgresStore({
    url: parseDatabaseUrl(url),
    connections: 4,
    pooled: false,
    clock,
    log: silentLog,
    deliveryDelayMs: 0,
  });
}

/** What `fillStore` added, for checks that need it. */
export type Filled = { keys: Once[]; users: number[] };

/** Fills every table, including rows of unfinished work. */
export async function fillStore(store: Store): Promise<Filled> {
  const { access, plants, keys } = store;
  const lanes = await lanesOf(store);
  const parts = given(store, { lanes: lanes.store });
  const users: number[] = [];
  for (const name of ['ann', 'bob', 'Çağla 木村', 'dora', 'eve']) {
    const user = await access.createUser({ name, at: AT });
    users.push(user?.id ?? 0);
  }
  const [ann = 0, bob = 0, cagla = 0, dora = 0] = users;
  // The newest user is deleted for good.
  await access.deleteUser('eve', AT);
  await parts.finishChores();
  await addTokens(store);
  await access.addShare({ owner: 'ann', viewer: 'bob', at: AT }, 9);
  const webhooks = [
    await parts.webhook(ann, { secrets: ['whsec_a', 'whsec_b'], rate: 7, description: 'Ann’s' }),
    await parts.webhook(bob),
    await parts.webhook(cagla),
  ];
  for (const id of [-(2n ** 63n), -1n, 0n, 9_007_199_254_740_993n, 2n ** 63n - 1n]) {
    await parts.create(ann, id, { name: `"\\'\n🌱 ${id}`, tag: id === 0n ? '' : undefined });
  }
  for (const owner of [bob, cagla, dora]) await parts.create(owner);
  await makeDeliveries(store, parts, { ann, webhooks });
  const once = keyOf(ann);
  await plants.create(parts.plant(ann, { id: 77n }), { user: ann, hasLeft: () => false, once });
  const path = { ...once, path: '/plants/\0%00', answer: { ...once.answer, location: undefined } };
  await keys.keepAnswer(path);
  await access.setUserDisabled('Çağla 木村', true, AT);
  // Being deleted: a user, and their share.
  await access.deleteUser('dora', AT);
  await access.removeShare({ owner: 'ann', viewer: 'bob' });
  await access.addShare({ owner: 'ann', viewer: 'bob', at: AT + 1 }, 9);
  await lanes.close();
  return { keys: [once, path], users: [ann, bob, cagla] };
}

function keyOf(user: number): Once {
  return {
    user,
    method: 'POST',
    path: '/plants',
    key: 'k',
    fingerprint: 'f',
    at: AT,
    expiresAt: AT + 100,
    answer: { status: 201, location: '/plants/77', body: '{"name":"Alder"}' },
  };
}

async function addTokens({ access }: Store): Promise<void> {
  const token = (n: number) => ({
    id: `tok_${n}`,
    hash: `${n}`.repeat(64),
    user: 'ann',
    label: `Label ${n}`,
    scopes: ['plants:read', 'webhooks:write'] as const,
    createdAt: AT + n,
    expiresAt: n === 1 ? AT + 1e9 : undefined,
  });
  for (const n of [1, 2, 3]) await access.createToken(token(n));
  await access.revokeToken('tok_2', AT + 5);
  await access.rotateToken({ id: 'tok_3', replacement: token(4), overlapUntil: AT + 9 });
  await access.setBootstrapToken({ ...token(5), user: 'bob' });
}

type Made = { ann: number; webhooks: readonly string[] };

/** For Ann's webhook: delivered, failed and waiting deliveries, a test, a running replay, and expired ones. */
async function makeDeliveries(store: Store, parts: Given, { ann, webhooks }: Made): Promise<void> {
  const [hook = '', ofBob = ''] = webhooks;
  const { chores, deliveries, webhooks: made } = store;
  const { record } = parts;
  await parts.attemptAll(ofBob);
  const [first, second, third] = await parts.due(hook);
  assert.ok(first && second && third);
  await record(outcomeOf(first));
  const failure = { status: 500, excerpt: 'no\n"way"', error: 'It answered 500.' };
  const attempt = { ...outcomeOf(second).attempt, ...failure };
  await record(outcomeOf(second, { attempt, reason: 'no', next: { state: 'failed' } }));
  const next = { state: 'pending', due: AT + 60, step: 1 } as const;
  await record(outcomeOf(third, { attempt, reason: 'later', next, laneState: { pausedUntil: AT + 50 } }));
  await chores.removeExpired({ before: second.event.id, from: undefined, limit: 100 });
  const event = { ...first.event, id: parts.ids.next('evt'), type: 'plant.test' as const };
  await deliveries.createTest({ owner: ann, webhook: hook, event, due: AT });
  await made.rotateSecret(ann, hook, { secret: 'whsec_c', at: AT + 1, overlapUntil: AT + 500, most: 9 });
  await deliveries.startReplay({ owner: ann, webhook: hook, from: 'evt_', state: undefined }, 9);
}

/** Everything that a store shows, in a form common to both stores. */
export async function viewOf(store: Store, { keys, users }: Filled) {
  const { access } = store;
  const named = await access.users();
  const webhooks = await Promise.all(users.map((user) => store.webhooks.webhooks(user)));
  return {
    users: named,
    tokens: await access.tokens(),
    shares: await access.shares(),
    belongings: await Promise.all(named.map(({ name }) => access.belongings(name))),
    ofUsers: await Promise.all(users.map((user) => viewOfUser(store, user))),
    ofWebhooks: await Promise.all(webhooks.flat().map((webhook) => viewOfWebhook(store, webhook))),
    answers: await Promise.all(keys.map((key) => store.keys.keptAnswer(key, AT))),
    cursorKeys: store.cursorKeys,
  };
}

async function viewOfUser({ access, events, plants, webhooks }: Store, viewer: number) {
  const all = { viewer, from: undefined, through: undefined, limit: 1_000, fields: [...plantFields] };
  const feed = await events.events({ viewer, after: undefined, limit: 1_000 });
  return {
    owners: await access.visibleOwners(viewer),
    plants: await plants.page(all),
    webhooks: await webhooks.webhooks(viewer),
    // Positions differ between stores.
    events: feed?.events.map((event) => ({ ...event, position: undefined })),
  };
}

async function viewOfWebhook(store: Store, { owner, id }: Pick<Webhook, 'owner' | 'id'>) {
  const { deliveries } = store;
  const found = await deliveriesTo(store, { owner, id }, { limit: 1_000 });
  return {
    health: await deliveries.health(id),
    deliveries: found,
    attempts: await Promise.all(found.map(({ event }) => attemptsOf(store, owner, id, event.id))),
  };
}
