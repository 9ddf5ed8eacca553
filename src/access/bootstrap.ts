import type { AccessContext } from './port.ts';
import { scopes } from './scopes.ts';
import { createToken, hashToken } from './tokens.ts';

/** The user of the first token and of the bootstrap token. */
export const ADMIN = 'admin';

/** Makes this the only bootstrap token of `admin`. Any earlier one is revoked. */
export function setBootstrapToken({ store, runtime }: AccessContext, token: string): Promise<void> {
  return store.setBootstrapToken({
    id: runtime.ids.next('tok'),
    hash: hashToken(token),
    user: ADMIN,
    label: 'bootstrap',
    scopes,
    createdAt: runtime.clock.now(),
    expiresAt: undefined,
  });
}

/**
 * Gives a store that never had a token the user `admin` and a token with all scopes, which is returned only this once.
 * If the first run was killed before it created the token, the next one creates it.
 */
export async function createFirstToken({ store, runtime }: AccessContext): Promise<string | undefined> {
  if ((await store.tokens()).length > 0) return undefined;
  await store.createUser({ name: ADMIN, at: runtime.clock.now() });
  const first = await createToken({ store, runtime }, { user: ADMIN, label: 'first run', scopes });
  return first?.token;
}
