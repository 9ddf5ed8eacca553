import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createAuthenticate } from '../../src/access/authentication.ts';
import { setBootstrapToken } from '../../src/access/bootstrap.ts';
import type { TokenUse } from '../../src/access/port.ts';
import { createToken, hashToken, mintToken } from '../../src/access/tokens.ts';
import { AppError } from '../../src/errors.ts';
import type { Runtime } from '../../src/runtime.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';

describe('authentication', () => {
  let now = 1_700_000_000_000;
  const runtime: Runtime = { ...systemRuntime(silentLog), clock: { now: () => now } };
  let store: Store;
  before(async () => {
    store = await openSqliteStore({
      path: ':memory:',
      writer: 'inline',
      clock: runtime.clock,
      deliveryDelayMs: 0,
      onFatal: assert.fail,
    });
    await store.access.createUser({ name: 'rosa', at: runtime.clock.now() });
  });
  after(() => store.close());

  const parts = () => ({ store: store.access, runtime });
  const token = async (expiresInMs?: number) => {
    const made = await createToken(parts(), {
      user: 'rosa',
      label: '',
      scopes: ['plants:read'],
      expiresInMs,
    });
    assert.ok(made);
    return made;
  };
  const authenticate = (bootstrapToken?: string) => {
    const { known, lookUp } = createAuthenticate({ ...parts(), bootstrapToken });
    return { known, lookUp, check: async (text: string) => known(text) ?? lookUp(text) };
  };

  test('a token that was seen before is known at once', async () => {
    const check = authenticate();
    const { token: text } = await token();
    assert.equal(check.known(text), undefined);
    await check.lookUp(text);
    const seen = check.known(text);
    assert.equal(seen?.user.name, 'rosa');
    assert.deepEqual([...seen.scopes], ['plants:read']);
  });

  test('a token that was seen before is refused as soon as it is revoked', async () => {
    const { check } = authenticate();
    const { id, token: text } = await token();
    await check(text);
    await store.access.revokeToken(id, now);
    await assert.rejects(async () => check(text), { code: 40101 });
  });

  test('a token that was seen before is refused as soon as it has expired', async () => {
    const { check } = authenticate();
    const { token: text } = await token(1000);
    await check(text);
    now += 999;
    await check(text);
    now += 1;
    await assert.rejects(async () => check(text), { code: 40102 });
  });

  describe('the last use of a token', () => {
    /** Every write, and how to wait for it. */
    const watched = () => {
      const writes: TokenUse[][] = [];
      let fails = false;
      let { promise: written, resolve: wrote } = Promise.withResolvers<void>();
      const recordUses = async (uses: readonly TokenUse[]) => {
        writes.push([...uses]);
        const resolve = wrote;
        ({ promise: written, resolve: wrote } = Promise.withResolvers<void>());
        try {
          if (fails) throw new AppError(50302);
          await store.access.recordUses(uses);
        } finally {
          setImmediate(resolve);
        }
      };
      const { known, lookUp } = createAuthenticate({
        store: { ...store.access, recordUses },
        runtime,
        bootstrapToken: undefined,
      });
      return {
        writes,
        check: async (text: string) => known(text) ?? lookUp(text),
        next: () => written,
        fail: (does: boolean) => {
          fails = does;
        },
      };
    };
    const lastUse = async (text: string) => (await store.access.findToken(hashToken(text)))?.lastUsedOn;

    test('is written once a day', async () => {
      // What is queued would be too old after such a jump.
      await store.access.recordUses([]);
      now = Date.UTC(2026, 10, 22, 23, 59, 59);
      const { token: text, id } = await token();
      const { check, writes, next } = watched();
      const first = next();
      for (let n = 0; n < 3; n++) await check(text);
      await first;
      assert.equal(await lastUse(text), '2026-11-22');
      now += 1_000;
      const second = next();
      for (let n = 0; n < 3; n++) await check(text);
      await second;
      assert.equal(await lastUse(text), '2026-11-23');
      assert.deepEqual(writes, [[{ id, on: '2026-11-22' }], [{ id, on: '2026-11-23' }]]);
    });

    test('is not written again by a service that starts on the same day', async () => {
      const { token: text } = await token();
      const before = watched();
      const first = before.next();
      await before.check(text);
      await first;
      const { check, writes } = watched();
      await check(text);
      assert.deepEqual(writes, []);
    });

    test('goes with the next one when it could not be written', async () => {
      const [one, two] = [await token(), await token()];
      const { check, writes, next, fail } = watched();
      fail(true);
      const first = next();
      await check(one.token);
      await first;
      assert.equal(await lastUse(one.token), undefined);
      fail(false);
      const second = next();
      await check(two.token);
      await second;
      assert.deepEqual(
        writes.at(-1)?.map(({ id }) => id),
        [one.id, two.id],
      );
      assert.ok(await lastUse(one.token));
    });

    test('is not written of a token that is refused', async () => {
      const { token: text, id } = await token(1_000);
      const { check, writes } = watched();
      now += 1_000;
      await assert.rejects(async () => check(text), { code: 40102 });
      await store.access.revokeToken(id, now);
      await assert.rejects(async () => check(text), { code: 40101 });
      assert.deepEqual(writes, []);
    });
  });

  test('an unknown token and a mistyped one are refused alike', async () => {
    const { check } = authenticate();
    const unknown = mintToken(randomBytes);
    const mistyped = unknown.slice(0, -1) + (unknown.endsWith('a') ? 'b' : 'a');
    for (const text of [unknown, mistyped]) await assert.rejects(async () => check(text), { code: 40101 });
  });

  test('a bootstrap token that looks like a mistyped one is accepted', async () => {
    const minted = mintToken(randomBytes);
    const chosen = minted.slice(0, -1) + (minted.endsWith('a') ? 'b' : 'a');
    await setBootstrapToken(parts(), chosen);
    const principal = await authenticate(chosen).check(chosen);
    assert.equal(principal.user.name, 'admin');
  });
});
