import { signal } from '@preact/signals';
import { PlantStore } from '../../src/client/client.ts';
import { apiUrl, watchedFetch } from './connection.ts';
import { isHeld } from './hold.ts';

export type Scope = 'plants:read' | 'plants:write' | 'webhooks:read' | 'webhooks:write';

/** Who is signed in, and the client that acts for them. */
export type Session = { store: PlantStore; user: string; scopes: ReadonlySet<string> };

export const session = signal<Session | undefined>(undefined);
/** True until it is known whether this tab kept a token. */
export const isRestoring = signal(true);
/** Why a person has to sign in again. */
export const signedOutBecause = signal<string | undefined>(undefined);

/** Of this tab, and gone with it. There is no cookie, and nothing in `localStorage`. */
const KEPT = 'plant-store.token';

/** Whether the token has a scope; pages do not offer what the service would refuse. */
export function may(scope: Scope): boolean {
  return session.value?.scopes.has(scope) ?? false;
}

/** The client of who is signed in. Pages are only shown to somebody who is. */
export function store(): PlantStore {
  const current = session.peek();
  if (!current) throw new Error('Nobody is signed in.');
  return current.store;
}

/**
 * Signs in with a token that the service accepts.
 *
 * @param keep Whether a reload of this tab finds the token again.
 * @returns A sentence when it does not accept it.
 */
export async function signIn(token: string, { keep }: { keep: boolean }): Promise<string | undefined> {
  const answer = await whoIs(token);
  if (typeof answer === 'string') return answer;
  if (keep) sessionStorage.setItem(KEPT, token);
  else sessionStorage.removeItem(KEPT);
  signedOutBecause.value = undefined;
  session.value = { store: clientFor(token), ...answer };
  return undefined;
}

export function signOut(reason?: string): void {
  sessionStorage.removeItem(KEPT);
  signedOutBecause.value = reason;
  session.value = undefined;
}

/** Signs in with the token that this tab kept, if it did. */
export async function restoreSession(): Promise<void> {
  const token = sessionStorage.getItem(KEPT);
  if (token !== null) signedOutBecause.value = await signIn(token, { keep: true });
  isRestoring.value = false;
}

function clientFor(token: string): PlantStore {
  const signedInFetch: typeof fetch = async (input, init) => {
    const response = await watchedFetch(input, init);
    // An answer to a request of an earlier session does not end this one. While a secret is shown the next request will.
    if (response.status === 401 && session.peek()?.store === client && !isHeld()) {
      signOut(
        'The service no longer accepts the token: it ended or was revoked. Sign in again to go on here.',
      );
    }
    return response;
  };
  const client = new PlantStore({ url: apiUrl.href, token, fetch: signedInFetch });
  return client;
}

type Me = { user: string; scopes: ReadonlySet<string> };

async function whoIs(token: string): Promise<Me | string> {
  // Nothing else fits into a header, and `fetch` would not say what is wrong with it.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    return 'A token is letters, digits and signs without a blank in between. Was all of it copied?';
  }
  try {
    const headers = { authorization: `Bearer ${token}` };
    const response = await watchedFetch(new URL('me', apiUrl), { headers, cache: 'no-store' });
    const body: unknown = await response.json();
    if (response.ok && isMe(body)) return { user: body.user, scopes: new Set(body.scopes) };
    return isFailure(body) ? body.message : `The service answered ${response.status}.`;
  } catch {
    return 'The service cannot be reached. Is it running? Try again in a moment.';
  }
}

function isMe(body: unknown): body is { user: string; scopes: string[] } {
  return typeof body === 'object' && body !== null && 'user' in body && 'scopes' in body;
}

function isFailure(body: unknown): body is { message: string } {
  return typeof body === 'object' && body !== null && 'message' in body;
}
