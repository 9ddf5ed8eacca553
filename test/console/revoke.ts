import assert from 'node:assert/strict';
import { hashToken } from '../../src/access/tokens.ts';
import type { Service } from '../../testkit/service/service.ts';

/** Revokes a token while a person is signed in with it. */
export function revoke(service: Service, token: string): Promise<void> {
  return service.beside(async ({ store, runtime }) => {
    const stored = await store.access.findToken(hashToken(token));
    assert.ok(await store.access.revokeToken(stored?.id ?? '', runtime.clock.now()));
  });
}
