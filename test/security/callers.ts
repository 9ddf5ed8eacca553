import assert from 'node:assert/strict';
import { type Scope, scopes } from '../../src/access/scopes.ts';
import { createToken } from '../../src/access/tokens.ts';
import type { Service } from '../../testkit/service/service.ts';
import type { Parts } from '../../testkit/stores/beside.ts';
import { type Outcome, type Row, refusals } from './matrix.ts';
import { untilChoresAreDone } from './rows.ts';

/** Someone who sends a request, by the Authorization header. */
export type Caller = {
  name: string;
  /** Undefined to send none. */
  authorization(row: Row): string | undefined;
  outcome(row: Row): Outcome;
  seesPlants: boolean;
};

const OWNER = 'owner';

/** Creates every kind of caller in the service's store. The owner comes last. */
export async function makeCallers(service: Service): Promise<{ callers: Caller[]; owner: string }> {
  const tokens = await service.beside(makeTokens);
  await untilChoresAreDone(service);
  // A new user of the same name is a different user.
  await service.tokenFor('deleted');
  const callers = [...refusedCallers(tokens), ...admittedCallers(tokens)];
  return { callers, owner: `Bearer ${tokens.owner.token}` };
}

type Tokens = Awaited<ReturnType<typeof makeTokens>>;

async function makeTokens(parts: Parts) {
  const { store, runtime } = parts;
  const tokens = {
    owner: await tokenOf(parts, OWNER),
    viewer: await tokenOf(parts, 'viewer'),
    'former viewer': await tokenOf(parts, 'former viewer'),
    shown: await tokenOf(parts, 'shown'),
    stranger: await tokenOf(parts, 'stranger'),
    revoked: await tokenOf(parts, OWNER),
    expired: await tokenOf(parts, OWNER, { expiresInMs: -1 }),
    disabled: await tokenOf(parts, 'disabled'),
    deleted: await tokenOf(parts, 'deleted'),
    without: await tokensWithout(parts),
  };
  const at = runtime.clock.now();
  await store.access.revokeToken(tokens.revoked.id, at);
  for (const viewer of ['viewer', 'former viewer', 'disabled', 'deleted']) {
    assert.equal(await store.access.addShare({ owner: OWNER, viewer, at }, 100), 'shared');
  }
  assert.equal(await store.access.addShare({ owner: 'shown', viewer: OWNER, at }, 100), 'shared');
  assert.ok(await store.access.removeShare({ owner: OWNER, viewer: 'former viewer' }));
  assert.equal(await store.access.setUserDisabled('disabled', true, at), 'changed');
  assert.ok(await store.access.deleteUser('deleted', at));
  return tokens;
}

/** For each scope, a token of the owner with every other scope; for operations without one, a token without any. */
async function tokensWithout(parts: Parts): Promise<ReadonlyMap<Scope | undefined, string>> {
  const made = new Map<Scope | undefined, string>();
  made.set(undefined, (await tokenOf(parts, OWNER, { scopes: [] })).token);
  for (const scope of scopes) {
    const others = scopes.filter((other) => other !== scope);
    made.set(scope, (await tokenOf(parts, OWNER, { scopes: others })).token);
  }
  return made;
}

async function tokenOf(
  { store, runtime }: Parts,
  user: string,
  options: { scopes?: readonly Scope[]; expiresInMs?: number } = {},
): Promise<{ id: string; token: string }> {
  const access = { store: store.access, runtime };
  await store.access.createUser({ name: user, at: runtime.clock.now() });
  const made = await createToken(access, { user, label: '', scopes, ...options });
  if (made === undefined) throw new Error(`There is no user ${user}.`);
  return made;
}

function refusedCallers(tokens: Tokens): Caller[] {
  const { token } = tokens.owner;
  const headers: Record<keyof typeof refusals, (row: Row) => string | undefined> = {
    'no token': () => undefined,
    'another scheme': () => `Basic ${token}`,
    'a malformed header': () => `Bearer ${token} ${token}`,
    'an unknown token': () => 'Bearer a-token-that-nobody-ever-made',
    'a mistyped token': () => `Bearer ${mistyped(token)}`,
    'a revoked token': () => `Bearer ${tokens.revoked.token}`,
    'an expired token': () => `Bearer ${tokens.expired.token}`,
    'a token of a disabled user': () => `Bearer ${tokens.disabled.token}`,
    'a token of a deleted user': () => `Bearer ${tokens.deleted.token}`,
    'a token with every other scope': ({ scope }) => `Bearer ${tokens.without.get(scope)}`,
  };
  // The keys are those of `refusals`.
  const names = Object.keys(refusals) as (keyof typeof refusals)[];
  return names.map((name) => ({
    name,
    authorization: headers[name],
    outcome: ({ scope, owner }) => (refusals[name] === 40300 && scope === undefined ? owner : refusals[name]),
    seesPlants: false,
  }));
}

function admittedCallers({ owner, viewer, shown, stranger, ...tokens }: Tokens): Caller[] {
  const other = ({ other: outcome }: Row) => outcome;
  const caller = (name: string, { token }: { token: string }, outcome: Caller['outcome']): Caller => ({
    name,
    authorization: () => `Bearer ${token}`,
    outcome,
    seesPlants: name === 'the viewer' || name === 'the owner',
  });
  return [
    caller('another user', stranger, other),
    caller('a user whose plants the owner may read', shown, other),
    caller('a viewer whose share was removed', tokens['former viewer'], other),
    caller('the viewer', viewer, (row) => row.viewer),
    caller('the owner', owner, (row) => row.owner),
  ];
}

/** Changes one character, so that the checksum is wrong. */
export function mistyped(token: string): string {
  return `${token.slice(0, 10)}${token[10] === 'a' ? 'b' : 'a'}${token.slice(11)}`;
}
