import type { AccessContext } from './port.ts';
import { scopes } from './scopes.ts';
import { hashToken, newToken } from './tokens.ts';

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
 * If the first run was killed before it created the token, the next one creates it. Of several at the same time, one
 * does.
 */
export async function createFirstToken({ store, runtime }: AccessContext): Promise<string | undefined> {
  if ((await store.tokens()).length > 0) return undefined;
  await store.createUser({ name: ADMIN, at: runtime.clock.now() });
  const admin = await store.user(ADMIN);
  if (!admin) return undefined;
  const { token, kept } = newToken(runtime);
  const first = { ...kept, user: ADMIN, label: 'first run', scopes, expiresAt: undefined };
  const outcome = await store.createToken(first, { user: admin.id, token: undefined, most: 1 });
  return outcome === 'created' ? token : undefined;
}
