import type { AccessContext } from './port.ts';
import { scopes } from './scopes.ts';
import { createToken, hashToken } from './tokens.ts';

/** The user of the first token and of the bootstrap token. */
export const ADMIN = 'admin';

/**
 * Makes sure that somebody can use the store. With a bootstrap token, `admin` has exactly that one, and any earlier
 * bootstrap token is revoked. Without, a store that never had a token gets the user `admin` and a token with all
 * scopes, which is returned only this once. If the first run was killed before it created the token, the next one
 * creates it.
 */
export async function bootstrap(
  { store, runtime }: AccessContext,
  bootstrapToken: string | undefined,
): Promise<{ token: string | undefined }> {
  if (bootstrapToken !== undefined) {
    await store.setBootstrapToken({
      id: runtime.ids.next('tok'),
      hash: hashToken(bootstrapToken),
      user: ADMIN,
      label: 'bootstrap',
      scopes,
      createdAt: runtime.clock.now(),
      expiresAt: undefined,
    });
    return { token: undefined };
  }

  const made = await store.tokens();
  if (made.length > 0) return { token: undefined };
  await store.createUser({ name: ADMIN, at: runtime.clock.now() });
  const first = await createToken({ store, runtime }, { user: ADMIN, label: 'first run', scopes });
  return { token: first?.token };
}
